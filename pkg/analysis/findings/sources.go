package findings

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/hostbound/hostbound/pkg/names/marker"
)

//go:embed data/sources.json
var sourcesFile []byte

// Sources says which functions NVTX ranges come from, and what to do about ranges and about
// causes of idle time. The built-in table is data/sources.json; a file of the same form extends
// or corrects it.
type Sources struct {
	ranges map[string]sourceRange
	advices
}

// advices are sentences of the form "diagnosis: what to do". Topics are by topic of ranges,
// Causes by cause of idle time. Otherwise, also by cause, is used if these have none; "host"
// stands for ranges.
type advices struct {
	Topics    map[string]string `json:"topics"`
	Causes    map[string]string `json:"causes"`
	Otherwise map[string]string `json:"otherwise"`
}

// sourceRange is where a range comes from. Digits in NVTX may be folded.
type sourceRange struct {
	NVTX     string `json:"nvtx"`
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Topic    string `json:"topic,omitempty"`
	Note     string `json:"note,omitempty"`
}

// DefaultSources returns the built-in table.
func DefaultSources() *Sources {
	s := &Sources{map[string]sourceRange{}, advices{map[string]string{}, map[string]string{}, map[string]string{}}}
	extended, err := s.Extend(bytes.NewReader(sourcesFile))
	if err != nil {
		panic("BUG: sources.json: " + err.Error())
	}
	return extended
}

// Extend returns a copy of the table extended by r, which has the form of data/sources.json.
// Entries of r replace those with the same key. s is not changed.
func (s *Sources) Extend(r io.Reader) (*Sources, error) {
	var file struct {
		Ranges []sourceRange `json:"ranges"`
		advices
	}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("source map: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("source map: there is something after the object")
	}
	t := &Sources{maps.Clone(s.ranges), advices{maps.Clone(s.Topics), maps.Clone(s.Causes), maps.Clone(s.Otherwise)}}
	for i, one := range file.Ranges {
		if one.NVTX == "" || one.Function == "" {
			return nil, fmt.Errorf("source map: range %d needs nvtx and function", i+1)
		}
		t.ranges[marker.Fold(one.NVTX)] = one
	}
	maps.Copy(t.Topics, file.Topics)
	maps.Copy(t.Causes, file.Causes)
	maps.Copy(t.Otherwise, file.Otherwise)
	return t, nil
}

// Function returns the function that ranges with this text come from, "" if unknown.
func (s *Sources) Function(text string) string { return s.ranges[marker.Fold(text)].Function }

// File returns the file of that function, "" if unknown.
func (s *Sources) File(text string) string { return s.ranges[marker.Fold(text)].File }

// Advice returns what to do about idle time of a cause, as package idle names it; for a range,
// the advice on its topic. The text continues after a colon, and is "" if there is none.
func (s *Sources) Advice(cause string) string {
	sentence := cmp.Or(s.Causes[cause], s.Otherwise[cause])
	if name, ok := strings.CutPrefix(cause, "host:"); ok {
		sentence = cmp.Or(s.Topics[s.ranges[marker.Fold(name)].Topic], s.Otherwise["host"])
	}
	if _, do, ok := strings.Cut(sentence, ": "); ok {
		sentence = do
	}
	return strings.TrimSuffix(sentence, ".")
}
