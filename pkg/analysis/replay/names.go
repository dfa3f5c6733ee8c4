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

// name is the name of rows: its text, for ranges with digits folded, and which of the
// requested globs match the original. Ranges that differ only in digits share a name, so
// that numbered ranges take no memory each.
type name struct {
	text    string
	isRange bool
	same    int32 // the first name with the same text and kind, whatever globs match
	flags   uint16
	fits    uint64 // bit k: matches names.globs[k]
}

// seed is the seed of the hashes by which recent names are found.
var seed = maphash.MakeSeed()

// names interns the names of a stream.
type names struct {
	globs []string // that scenarios ask for
	all   []name
	codes map[string]int32 // by matching globs, kind and text
	texts map[string]int32 // the first code by kind and text

	coded  [2]event.Memo[int32] // for dictionary strings; index 1: ranges
	buf    []byte
	recent [1024]recentName // that are in no dictionary, by hash
}

// recentName is an original name and its code.
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

// code returns the code of a text, a new one if it is unknown.
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

// flagsOf returns what the model needs to know about a name.
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
