package sim

import (
	"os"
	"testing"
)

// TestList looks at sizes around the borders of the chunks.
func TestList(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 15, 16, 17, listChunk - 1, listChunk, listChunk + 1, 5*listChunk + 3} {
		var l List[int]
		var first *int
		for i := range n {
			l.Add(i)
			if i == 0 {
				for p := range l.All() {
					first = p
				}
			}
		}
		if l.Len() != n {
			t.Errorf("Len() = %d, want %d", l.Len(), n)
		}
		want := 0
		for p := range l.All() {
			if *p != want {
				t.Fatalf("of %d: row %d is %d", n, want, *p)
			}
			if want == 0 && p != first {
				t.Errorf("of %d: the first row moved", n)
			}
			want++
		}
		if want != n {
			t.Errorf("All() gave %d of %d rows", want, n)
		}
		for range l.All() {
			break
		}
	}
}

// TestListFile looks at rows that are not in memory, and at those that have to be.
func TestListFile(t *testing.T) {
	const n = listRoom + 3*listChunk + 5
	var l List[Fill]
	var samples List[CPUSample]
	for i := range n {
		l.Add(Fill{Bytes: int64(i)})
		samples.Add(CPUSample{At: int64(i), Stack: []Frame{{1, 2}}})
	}
	held := 0
	for _, chunk := range l.chunks {
		held += cap(chunk)
	}
	if held > listRoom+2*listChunk {
		t.Errorf("%d of %d rows are in memory", held, n)
	}
	l.Change(func(f *Fill) { f.Bytes *= 2 })
	want := int64(0)
	for f := range l.All() {
		if f.Bytes != want {
			t.Fatalf("row %d is %d", want/2, f.Bytes)
		}
		want += 2
	}
	at := int64(0)
	for s := range samples.All() {
		if s.At != at || s.Stack[0] != (Frame{1, 2}) {
			t.Fatalf("sample %d is %v", at, *s)
		}
		at++
	}
	if want != 2*n || at != n || l.err != nil || samples.file != nil {
		t.Errorf("%d and %d of %d rows, %v, a file for pointers: %v", want/2, at, n, l.err, samples.file != nil)
	}
}

// TestListFull looks at a folder that takes no file: the trace is not written.
func TestListFull(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/missing")
	var tr Trace
	tr.AddProcess(Process{})
	for range listRoom + 2*listChunk {
		tr.Fills.Add(Fill{})
	}
	if path := t.TempDir() + "/x.sqlite"; tr.WriteSQLite(path, Options{}) == nil {
		t.Error("no error")
	} else if _, err := os.Stat(path); err == nil {
		t.Error("a file")
	}
}
