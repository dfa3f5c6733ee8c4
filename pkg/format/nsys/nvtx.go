package nsys

import (
	"encoding/json"
	"hash/maphash"
	"unsafe"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
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

// domainName is what a process called a domain, and the first row id of the task that
// found it: the first name holds.
type domainName struct {
	row  int64
	name string
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
	name, text := l.rangeText(b, i)
	if name != noString {
		text = l.report.strings.get(name)
	}
	return marker.Homeless(string(clean(text)))
}

// addRanges appends ranges.
func (l *loader) addRanges(p *chunk, b *block, rows []int32) {
	l.addSpans(p, b, rows)
	p.domain = appendRows(p.domain, b.column("domainId"), rows)
	first := len(p.name)
	p.name, p.class = longer(p.name, len(rows)), longer(p.class, len(rows))
	names, classes := p.name[first:], p.class[first:]
	literals, ids := b.column("text"), b.column("textId")
	for k, i := range rows {
		var entry nameEntry
		if len(literals.Text(int(i))) == 0 && !ids.Null[i] { // Fast path
			entry = l.rangeOf(b, i, ids.Int[i])
		}
		if entry == (nameEntry{}) {
			entry = l.rangeName(b, i)
		}
		names[k], classes[k] = entry.name, entry.class
	}
	l.countHost(p, first)
}

// rangeOf is rangeName for a row whose name has a number and that has no text of its own,
// the zero value where no string has that number.
func (l *loader) rangeOf(b *block, i int32, id int64) nameEntry {
	entry, known := l.named.at(triple{a: id})
	if !known {
		*entry = nameEntry{}
		if l.report.strings.find(id) != noString {
			*entry = l.rangeName(b, i)
		}
	}
	return *entry
}

// rangeName finds the name of an NVTX row and its class.
func (l *loader) rangeName(b *block, i int32) nameEntry {
	name, text := l.rangeText(b, i)
	if name == noString {
		return l.keep(text)
	}
	if l.rangeClass[name] == unclassed {
		shared := l.report.strings.str(name)
		l.rangeClass[name] = int64(event.ClassCode(marker.ClassNVTX(shared)))
		l.work.look(shared)
		if marker.Homeless(shared) != shared {
			l.rangeClass[name] = ownText
		}
	}
	if l.rangeClass[name] == ownText {
		return l.keep(l.report.strings.get(name))
	}
	return nameEntry{name, l.rangeClass[name]}
}

// rangeText finds the text of an NVTX row: its number in the string table, or
// where it has none the text itself.
func (l *loader) rangeText(b *block, i int32) (name int64, text []byte) {
	literals := b.column("text")
	text = literals.Text(int(i)) // exports of before 2020.3 have "" where others have null
	if name := l.report.strings.find(orNone(b.column("textId"), i)); name != noString && len(text) == 0 {
		return name, nil
	}
	if !literals.Null[i] {
		return noString, text
	}
	form := b.column("jsonText").Text(int(i))
	if name := l.report.strings.find(orNone(b.column("jsonTextId"), i)); len(form) == 0 && name != noString {
		form = l.report.strings.get(name)
	}
	return noString, []byte(message(form))
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

// maxRepeated is the length of a text up to which it is kept once where rows near
// each other repeat it.
const maxRepeated = 1 << 10

// keep puts a text into the store.
func (l *loader) keep(text []byte) nameEntry {
	if text = text[:min(len(text), maxText)]; len(text) == 0 {
		return nameEntry{noString, int64(event.ClassCode(marker.ClassNVTX("")))}
	}
	entry, known := l.ranges.at(triple{a: int64(maphash.Bytes(l.seed, text))})
	if known && entry.text == string(text) {
		return entry.nameEntry
	}
	*entry = textEntry{}
	l.work.look(unsafe.String(unsafe.SliceData(text), len(text)))
	if len(text) <= maxRepeated {
		entry.text = string(text)
	}
	text = clean([]byte(marker.Homeless(string(text))))
	at, err := l.report.store.Put(text)
	if err != nil && l.err == nil {
		l.err = l.report.explain(err)
	}
	entry.nameEntry = nameEntry{literal(at, len(text)), int64(event.ClassCode(marker.ClassNVTX(string(text))))}
	return entry.nameEntry
}
