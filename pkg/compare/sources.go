package compare

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/hostbound/hostbound/pkg/marker"
)

//go:embed sources.json
var builtIn []byte

// Sources tells, of NVTX ranges, what functions they come from and what to do
// where they take longer. It is kept in sources.json; a file of the same form
// extends or corrects it.
type Sources struct {
	ranges map[string]sourceRange
	topics map[string]string
}

// sourceRange is where a range comes from. The digits of its text may be folded.
type sourceRange struct {
	NVTX     string `json:"nvtx"`
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Topic    string `json:"topic,omitempty"`
	Note     string `json:"note,omitempty"`
}

// DefaultSources returns the table built in.
func DefaultSources() *Sources {
	s := &Sources{map[string]sourceRange{}, map[string]string{}}
	extended, err := s.Extend(bytes.NewReader(builtIn))
	if err != nil {
		panic("BUG: sources.json: " + err.Error())
	}
	return extended
}

// Extend returns the table with what r holds, in the form of sources.json, added
// to it or in the place of what is there by the same text.
func (s *Sources) Extend(r io.Reader) (*Sources, error) {
	var file struct {
		Ranges []sourceRange     `json:"ranges"`
		Topics map[string]string `json:"topics"`
	}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("source map: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("source map: there is something after the object")
	}
	t := &Sources{maps.Clone(s.ranges), maps.Clone(s.topics)}
	for i, one := range file.Ranges {
		if one.NVTX == "" || one.Function == "" {
			return nil, fmt.Errorf("source map: range %d needs nvtx and function", i+1)
		}
		t.ranges[marker.Fold(one.NVTX)] = one
	}
	maps.Copy(t.topics, file.Topics)
	return t, nil
}

// Function returns the function that ranges of a text come from, "" where that is
// not known.
func (s *Sources) Function(text string) string { return s.ranges[marker.Fold(text)].Function }

// File returns the file of that function.
func (s *Sources) File(text string) string { return s.ranges[marker.Fold(text)].File }

// advice returns the topic of a range and what to do about it.
func (s *Sources) advice(text string) (topic, advice string) {
	topic = s.ranges[marker.Fold(text)].Topic
	return topic, s.topics[topic]
}
