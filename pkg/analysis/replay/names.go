package replay

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"strings"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Flags of names.
const (
	isQuery = 1 << iota
	isStreamWait
	isRecord
	isEventSync
	isStreamSync
	waitsForGIL
	holdsGIL
	isToHost
	isStep     // a forward-step range
	isBlocking // a copy that blocks whatever the host's memory is
)

// name is what rows are called: text with digits folded, and which of the globs that were
// asked for fit the text itself. Names that differ in digits alone are one, so that texts
// with numbers in them take no memory each.
type name struct {
	text    string
	isRange bool
	same    int32 // the first name of the same text, of ranges or not
	flags   uint16
	fits    uint64 // globs of names.globs
}

// seed is that of hashes of names, by which recent ones are found.
var seed = maphash.MakeSeed()

// names are the names of a stream, each once.
type names struct {
	globs []string // that were asked for
	all   []name
	codes map[string]int32 // of globs that fit, a kind and a folded text
	texts map[string]int32 // the first of a kind and a folded text

	coded  [2]event.Memo[int32] // by whether they are ranges
	buf    []byte
	recent [1024]recentName // that are in no dictionary
}

// recentName is a name as it came, and its code.
type recentName struct {
	text    []byte
	isRange bool
	code    int32
}

// of returns the code of row i's name.
func (n *names) of(s *event.Strings, i int, isRange bool) int32 {
	if s.Dict != nil && s.Codes[i] >= 0 && isRange {
		return n.coded[1].Of(s, i, func(text []byte) int32 { return n.code(text, true) })
	}
	if s.Dict != nil && s.Codes[i] >= 0 {
		return n.coded[0].Of(s, i, func(text []byte) int32 { return n.code(text, false) })
	}
	text := s.Get(i)
	r := &n.recent[maphash.Bytes(seed, text)%uint64(len(n.recent))]
	if r.text == nil || r.isRange != isRange || !bytes.Equal(r.text, text) { // Else the fast path: names repeat.
		r.code, r.isRange = n.code(text, isRange), isRange
		if r.text = append(r.text[:0], text...); r.text == nil {
			r.text = []byte{}
		}
	}
	return r.code
}

// code returns the code of a text.
func (n *names) code(text []byte, isRange bool) int32 {
	var fits uint64
	for k, g := range n.globs {
		if matches(g, string(text)) {
			fits |= 1 << k
		}
	}
	n.buf = append(binary.LittleEndian.AppendUint64(n.buf[:0], fits), 0)
	if isRange {
		n.buf[8] = 1
	}
	head := len(n.buf)
	if isRange {
		n.buf = marker.AppendFolded(n.buf, text)
	} else {
		n.buf = append(n.buf, text...)
	}
	code, ok := n.codes[string(n.buf)]
	if !ok {
		code = int32(len(n.all))
		n.codes[string(n.buf)] = code
		one := name{text: string(n.buf[head:]), isRange: isRange, same: code, flags: flagsOf(string(text), isRange), fits: fits}
		if first, ok := n.texts[string(n.buf[8:])]; ok {
			one.same = first
		} else {
			n.texts[string(n.buf[8:])] = code
		}
		n.all = append(n.all, one)
	}
	return code
}

// flagsOf tells what the model has to know of a name.
func flagsOf(text string, isRange bool) (flags uint16) {
	if isRange {
		switch marker.GILStateOf(text) {
		case marker.WaitingGIL:
			return waitsForGIL
		case marker.HoldingGIL:
			return holdsGIL
		}
		return 0
	}
	has := func(flag uint16, ends ...string) {
		for _, end := range ends {
			if strings.HasSuffix(text, end) {
				flags |= flag
			}
		}
	}
	has(isQuery, "EventQuery", "StreamQuery")
	has(isStreamWait, "StreamWaitEvent")
	has(isRecord, "EventRecord", "EventRecordWithFlags")
	has(isEventSync, "EventSynchronize")
	has(isStreamSync, "StreamSynchronize")
	if lower := strings.ToLower(text); strings.Contains(lower, "dtoh") || strings.Contains(lower, "device-to-host") || strings.Contains(lower, "devicetohost") {
		flags |= isToHost
	}
	if cudaname.EffectOf(text)&cudaname.Blocks != 0 {
		flags |= isBlocking
	}
	return flags
}
