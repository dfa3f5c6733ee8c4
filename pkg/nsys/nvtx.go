package nsys

import (
	"encoding/json"
	"hash/maphash"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/marker"
)

// The event types of NVTX rows.
const (
	pushPopRange  = 59
	startEndRange = 60
	textRangeA    = 70
	textRangeB    = 71
	domainCreate  = 75
)

// domainKey is a domain of a process.
type domainKey struct {
	process process
	id      int64
}

// domainName is what a process called a domain, and the first row id of the chunk
// of the table that says so: the first name holds.
type domainName struct {
	chunk int64
	name  string
}

// pickRanges picks the NVTX rows that are ranges, and records the names of
// domains.
func (l *loader) pickRanges(t *task, b *block) []int32 {
	start, end := b.column("start"), b.column("end")
	kinds, threads, domains := b.column("eventType"), b.column("globalTid"), b.column("domainId")
	l.picked = l.picked[:0]
	for i := range b.n {
		kind := kinds.Int[i]
		if kinds == absent {
			kind = pushPopRange
		}
		switch kind {
		case domainCreate:
			key := domainKey{processOf(threads.Int[i]), orNone(domains, int32(i))}
			if _, ok := l.domains[key]; !ok {
				l.domains[key] = domainName{t.low, l.domainName(b, int32(i))}
			}
		case pushPopRange, startEndRange, textRangeA, textRangeB:
			// Without an end it was still open when the collection ended.
			if !end.Null[i] && l.usable(t, start, end, i) {
				l.picked = append(l.picked, int32(i))
			}
		}
	}
	return l.picked
}

// domainName is the name in a row that creates a domain.
func (l *loader) domainName(b *block, i int32) string {
	var p chunk
	return string(p.str(&l.report.strings, l.rangeText(&p, b, i).name))
}

// addRanges appends ranges.
func (l *loader) addRanges(p *chunk, b *block, rows []int32) {
	l.addSpans(p, b, rows)
	l.addThreads(p, b, rows)
	p.domain = appendRows(p.domain, b.column("domainId"), rows)
	first := len(p.name)
	for _, i := range rows {
		entry := l.rangeText(p, b, i)
		p.name, p.class = append(p.name, entry.name), append(p.class, entry.class)
	}
	l.countHost(p, first)
}

// rangeText finds the text of an NVTX row, keeping it in the chunk where it is
// not in the string table, and its class.
func (l *loader) rangeText(p *chunk, b *block, i int32) nameEntry {
	text := b.column("text")
	literal := text.Text(int(i)) // exports of before 2020.3 have "" where others have null
	if name := l.report.strings.find(orNone(b.column("textId"), i)); name != noString && len(literal) == 0 {
		if l.rangeClass[name] == unclassed {
			l.rangeClass[name] = int8(event.ClassCode(marker.ClassNVTX(l.report.strings.str(name))))
		}
		return nameEntry{name, l.rangeClass[name]}
	}
	if !text.Null[i] {
		return l.keep(p, literal)
	}
	form := b.column("jsonText").Text(int(i))
	if name := l.report.strings.find(orNone(b.column("jsonTextId"), i)); len(form) == 0 && name != noString {
		form = l.report.strings.get(name)
	}
	return l.keep(p, []byte(message(form)))
}

// message takes the message out of the JSON form of an NVTX text.
func message(text []byte) string {
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil {
		return ""
	}
	for _, key := range []string{"Message", "message", "Text", "text"} {
		if s, ok := fields[key].(string); ok {
			return s
		}
	}
	return ""
}

// maxChunkText bounds the strings of a chunk, far above what ranges hold.
const maxChunkText = 1 << 30

// keep keeps a text in the chunk, once where rows near each other repeat it.
func (l *loader) keep(p *chunk, text []byte) nameEntry {
	entry, known := l.ranges.at(triple{int64(maphash.Bytes(l.seed, text))})
	if known && entry.chunk == p && string(p.str(&l.report.strings, entry.name)) == string(text) {
		return entry.nameEntry
	}
	n := p.own.len()
	if len(p.own.data) > maxChunkText {
		text = nil
	}
	p.own.add(int64(n), text)
	class := event.ClassCode(marker.ClassNVTX(p.own.str(int32(n))))
	*entry = textEntry{p, nameEntry{^int32(n + 1), int8(class)}}
	return entry.nameEntry
}
