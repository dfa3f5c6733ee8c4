package spill

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A log hands out what was added to it, wherever that lies, and while more comes.
func TestLog(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, n := range []int{0, 1, 255, 256, 257, BlockRows, 5000} {
		for _, limit := range []int64{0, 1 << 30} {
			store := NewStore(limit)
			logs := []*Log{store.NewLog(2, 256), store.NewLog(2, 0)}
			for i := range int64(n) {
				for k, l := range logs {
					l.Add(i/3, i*int64(k+1)-7, None)
				}
				if i == 300 {
					logs[0].Seal()
				}
			}
			logs[1].Seal()
			for k, l := range logs {
				i := int64(0)
				l.Each(All, func(rows Rows) {
					for at, key := range rows[Key] {
						if key != i/3 || rows[Payload][at] != i*int64(k+1)-7 || rows[Payload+1][at] != None {
							t.Fatalf("%d rows: row %d is %d, %d, %d", n, i, key, rows[Payload][at], rows[Payload+1][at])
						}
						i++
					}
				})
				if i != int64(n) || l.Len() != i {
					t.Errorf("%d rows: %d were handed out, Len is %d", n, i, l.Len())
				}
			}
			if err := errors.Join(store.Err(), store.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

// A store that has failed says why, and its logs hold nothing more.
func TestLogFails(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	store := NewStore(0)
	l := store.NewLog(0, 1)
	l.Add(1)
	l.Add(2)
	var file *FileError
	if err := store.Err(); !errors.As(err, &file) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	l.Each(All, func(Rows) { t.Error("rows") })
}

// The rows of a log may be in no order.
func TestLogDisorder(t *testing.T) {
	store := NewStore(1 << 30)
	defer store.Close()
	l := store.NewLog(0, 0)
	for i := range int64(5000) {
		l.Add(i * 7919 % 5003)
	}
	i := int64(0)
	l.Each(All, func(rows Rows) {
		for _, key := range rows[Key] {
			if key != i*7919%5003 {
				t.Fatalf("row %d is %d", i, key)
			}
			i++
		}
	})
}
