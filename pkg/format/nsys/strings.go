package nsys

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// stringTable holds the strings of the table StringIds, contiguously, by number.
// Numbers are dense in every export seen; if they are not, index maps them to dense
// ones.
type stringTable struct {
	offsets []int32
	data    []byte
	index   map[int64]int32 // dense numbers, nil if numbers are dense already
}

// maxText is the length in bytes to which strings are cut, so that a batch of rows with
// the longest strings still fits into memory and into a message. Names of kernels and
// ranges are far shorter.
const maxText = 16 << 10

// noString stands for a missing string.
const noString = int64(-1)

// add appends the string with a number. Numbers that arrive as 0, 1, 2, … stay as they
// are.
func (t *stringTable) add(id int64, text []byte) {
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
	t.data = append(t.data, clean(text)...)
	t.offsets = append(t.offsets, int32(len(t.data)))
}

// append appends a string that has no number in the export, and returns its dense
// number.
func (t *stringTable) append(s string) int32 {
	if len(t.offsets) == 0 {
		t.offsets = append(t.offsets, 0)
	}
	t.data = append(t.data, s...)
	t.offsets = append(t.offsets, int32(len(t.data)))
	return int32(len(t.offsets) - 2)
}

// clean returns a text as valid UTF-8 of bounded length.
func clean(text []byte) []byte {
	if text = text[:min(len(text), maxText)]; utf8.Valid(text) {
		return text
	}
	return []byte(strings.ToValidUTF8(string(text), "\uFFFD"))
}

// len returns the number of strings.
func (t *stringTable) len() int { return max(len(t.offsets)-1, 0) }

// find returns the dense number of a string, noString if there is none.
func (t *stringTable) find(id int64) int64 {
	if t.index != nil {
		if i, ok := t.index[id]; ok {
			return int64(i)
		}
		return noString
	}
	if id < 0 || id >= int64(t.len()) {
		return noString
	}
	return id
}

// get returns the string with a dense number, empty for noString.
func (t *stringTable) get(i int64) []byte {
	if i < 0 {
		return nil
	}
	return t.data[t.offsets[i]:t.offsets[i+1]]
}

// str is get as a string. It shares the memory of the table, which must not change
// after loading.
func (t *stringTable) str(i int64) string {
	b := t.get(i)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

var errStrings = errors.New("its names do not fit into the memory that may be used")

// load reads StringIds into memory. It fails if that takes more than limit bytes.
func (t *stringTable) load(s scanner, columns map[string][]string, limit int64) error {
	want := append(ints("id"), textColumns("value")...)
	err := scanAll(s, columns, stringsTable, want, func(b *block) error {
		ids, values := b.column("id"), b.column("value")
		for i := range b.n {
			if int64(len(t.data)+16*len(t.offsets)) > limit {
				return fmt.Errorf("%w: they get %d MiB of it", errStrings, limit>>20)
			}
			if !ids.Null[i] {
				t.add(ids.Int[i], values.Text(i))
			}
		}
		return nil
	})
	// Drop the spare capacity, about a fifth: a report may have a text for each step.
	t.data = append(make([]byte, 0, len(t.data)+maxText), t.data...)
	return err
}
