package nsys

import (
	"errors"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/hostbound/hostbound/pkg/sqlite"
)

// texts is the table StringIds: texts by number, behind one another in one
// piece of memory. Numbers are dense in every export seen; where they are not,
// a map leads from them to the dense ones.
type texts struct {
	offsets []int32
	data    []byte
	index   map[int64]int32
}

// maxText is where a longer text ends, so that a batch of rows which all have
// the longest one still fits into memory and into a message. Names of kernels
// and ranges end long before.
const maxText = 16 << 10

// noText stands for a text that is not there.
const noText = int32(-1)

// add appends the text of a number. Numbers that come in the order 0, 1, 2, …
// stay what they are.
func (t *texts) add(id int64, text []byte) {
	n := len(t.offsets)
	if n == 0 {
		t.offsets = append(t.offsets, 0)
		n = 1
	}
	if t.index == nil && id != int64(n-1) {
		t.index = make(map[int64]int32, n)
		for i := range n - 1 {
			t.index[int64(i)] = int32(i)
		}
	}
	if t.index != nil {
		t.index[id] = int32(n - 1)
	}
	text = text[:min(len(text), maxText)]
	if !utf8.Valid(text) {
		text = []byte(strings.ToValidUTF8(string(text), "\uFFFD"))
	}
	t.data = append(t.data, text...)
	t.offsets = append(t.offsets, int32(len(t.data)))
}

// len returns the number of texts.
func (t *texts) len() int { return max(len(t.offsets)-1, 0) }

// find returns the dense number of a text, noText where there is none.
func (t *texts) find(id int64) int32 {
	if t.index != nil {
		if i, ok := t.index[id]; ok {
			return i
		}
		return noText
	}
	if id < 0 || id >= int64(t.len()) {
		return noText
	}
	return int32(id)
}

// get returns the text of a dense number, empty for noText.
func (t *texts) get(i int32) []byte {
	if i < 0 {
		return nil
	}
	return t.data[t.offsets[i]:t.offsets[i+1]]
}

// str is get as a string that shares the memory of the texts, which do not
// change once they are loaded.
func (t *texts) str(i int32) string {
	b := t.get(i)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// load reads the table.
func (t *texts) load(s scanner, columns []string) error {
	if !contains(columns, "id") || !contains(columns, "value") {
		return nil
	}
	low, high, err := s.rows("StringIds")
	if err != nil {
		return err
	}
	cols := []sqlite.Column{{Name: "id", Type: sqlite.Int}, {Name: "value", Type: sqlite.Text}}
	return s.scan("StringIds", cols, low, high, func(b *sqlite.Block) error {
		for i := range b.N {
			if len(t.data) > 1<<30 {
				return errors.New("more than 1 GiB of text in StringIds")
			}
			if !b.Cols[0].Null[i] {
				t.add(b.Cols[0].Int[i], b.Cols[1].Text(i))
			}
		}
		return nil
	})
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}
