package nsys

import (
	"encoding/json"
	"hash/maphash"
	"unsafe"

	"github.com/hostbound/hostbound/pkg/names/marker"
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

// domainName is the name that a process gave a domain, and the first row id of the task
// that found it: the first name wins.
type domainName struct {
	row  int64
	name string
}

// pickRanges picks the NVTX rows that are ranges, and records the names of domains.
func (p *picker) pickRanges(t *task, b *block) []int32 {
	start, end := b.column("start"), b.column("end")
	kinds, threads, domains := b.column("eventType"), b.column("globalTid"), b.column("domainId")
	return p.pick(b, func(i int) bool {
		kind := kinds.Int[i]
		if kinds == absent {
			kind = pushPopRange
		}
		switch kind {
		case domainCreate:
			key := domainKey{processOf(threads.Int[i]), orNone(domains, int32(i))}
			if _, ok := p.found.domains[key]; !ok {
				name, text := rangeText(&p.report.strings, b, int32(i))
				if name != noString {
					text = p.report.strings.get(name)
				}
				p.found.domains[key] = domainName{t.low, marker.Homeless(string(clean(text)))}
			}
		case pushPopRange, startEndRange, textRangeA, textRangeB:
			// Without an end, the range was open when the collection ended.
			return !end.Null[i] && p.usable(t, start, end, i)
		}
		return false
	})
}

// addRanges appends ranges.
func (a *adder) addRanges(p *chunk, b *block, rows []int32) {
	a.addSpans(p, b, rows)
	p.domain = appendRows(p.domain, b.column("domainId"), rows)
	first := len(p.name)
	p.name, p.class = longer(p.name, len(rows)), longer(p.class, len(rows))
	names, classes := p.name[first:], p.class[first:]
	literals, ids := b.column("text"), b.column("textId")
	for k, i := range rows {
		var entry nameEntry
		if len(literals.Text(int(i))) == 0 && !ids.Null[i] { // Fast path
			entry = a.rangeOf(b, i, ids.Int[i])
		}
		if entry == (nameEntry{}) {
			entry = a.rangeName(b, i)
		}
		names[k], classes[k] = entry.name, entry.class
	}
	a.countHost(p, first)
}

// rangeOf is rangeName for a row that names its text by number and has no literal text.
// It returns the zero value if no string has that number.
func (n *namer) rangeOf(b *block, i int32, id int64) nameEntry {
	entry, known := n.named.at(triple{a: id})
	if !known {
		*entry = nameEntry{}
		if n.report.strings.find(id) != noString {
			*entry = n.rangeName(b, i)
		}
	}
	return *entry
}

// rangeName returns the name and class of an NVTX row.
func (n *namer) rangeName(b *block, i int32) nameEntry {
	name, text := rangeText(&n.report.strings, b, i)
	if name == noString {
		return n.keep(text)
	}
	if n.rangeClass[name] == unclassed {
		shared := n.report.strings.str(name)
		n.rangeClass[name] = int64(marker.ClassNVTX(shared))
		n.found.work.look(shared)
		if marker.Homeless(shared) != shared {
			n.rangeClass[name] = ownText
		}
	}
	if n.rangeClass[name] == ownText {
		return n.keep(n.report.strings.get(name))
	}
	return nameEntry{name, n.rangeClass[name]}
}

// rangeText returns the text of an NVTX row: its number in the string table, or else
// noString and the text itself.
func rangeText(t *stringTable, b *block, i int32) (name int64, text []byte) {
	literals := b.column("text")
	text = literals.Text(int(i)) // exports before 2020.3 have "" instead of null
	if name := t.find(orNone(b.column("textId"), i)); name != noString && len(text) == 0 {
		return name, nil
	}
	if !literals.Null[i] {
		return noString, text
	}
	form := b.column("jsonText").Text(int(i))
	if name := t.find(orNone(b.column("jsonTextId"), i)); len(form) == 0 && name != noString {
		form = t.get(name)
	}
	return noString, []byte(message(form))
}

// message returns the message in the JSON form of an NVTX text, "" if there is none.
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

// maxRepeated is the longest text, in bytes, that is stored once when nearby rows
// repeat it.
const maxRepeated = 1 << 10

// keep stores a text and returns its name and class.
func (n *namer) keep(text []byte) nameEntry {
	if text = text[:min(len(text), maxText)]; len(text) == 0 {
		return nameEntry{noString, int64(marker.ClassNVTX(""))}
	}
	entry, known := n.ranges.at(triple{a: int64(maphash.Bytes(n.seed, text))})
	if known && entry.text == string(text) {
		return entry.nameEntry
	}
	*entry = textEntry{}
	n.found.work.look(unsafe.String(unsafe.SliceData(text), len(text)))
	if len(text) <= maxRepeated {
		entry.text = string(text)
	}
	text = clean([]byte(marker.Homeless(string(text))))
	at, err := n.report.store.Put(text)
	if err != nil && n.err == nil {
		n.err = n.report.explain(err)
	}
	entry.nameEntry = nameEntry{literal(at, len(text)), int64(marker.ClassNVTX(string(text)))}
	return entry.nameEntry
}
