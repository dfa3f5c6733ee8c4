package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/arrow"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestForeignThroughStreams takes columns that nobody knows from a stream
// through a checkpoint into another stream.
func TestForeignThroughStreams(t *testing.T) {
	for _, name := range []string{"x.parquet", "set"} {
		h, rows := trace(4)
		h.Foreign = event.PlainFields{{Name: "note", Type: event.PlainText}, {Name: "mark", Type: event.PlainInt}, {Name: "weight", Type: event.PlainFloat}}
		h.Extra = map[string]string{"theirs": "kept", "hostbound.future": "too", keySource: "not ours", "hostbound.seal": "neither"}
		marked := &marks{Source: eventtest.Source(h, rows, 64)}
		stream := toStream(t, marked)
		want := foreignStrings(t, fromStream(t, stream))

		path := filepath.Join(t.TempDir(), name)
		src := fromStream(t, stream)
		w, err := Create(path, src.Header(), Options{GroupRows: 50})
		if err != nil {
			t.Fatal(err)
		}
		if err := each(src, w.Write); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.Header().Foreign, h.Foreign) {
			t.Errorf("%s: columns %v instead of %v", name, r.Header().Foreign, h.Foreign)
		}
		if extra := r.Header().Extra; len(extra) != 2 || extra["theirs"] != "kept" || extra["hostbound.future"] != "too" {
			t.Errorf("%s: metadata %v", name, extra)
		}
		got := foreignStrings(t, fromStream(t, toStream(t, r)))
		if len(got) != len(rows) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d rows instead of %d, or other values", name, len(got), len(rows))
		}
	}
}

// marks gives rows foreign columns: their numbers, every fifth null.
type marks struct {
	event.Source
	n int
}

func (m *marks) Next() (*event.Batch, error) {
	b, err := m.Source.Next()
	if err != nil {
		return nil, err
	}
	c := *b
	c.Foreign = nil
	for _, f := range m.Header().Foreign.(event.PlainFields) {
		var col event.Foreign = (&event.Plain{Type: f.Type, Strings: event.Strings{Offsets: []int32{0}}}).Slice(0, 0)
		for i := range b.Len {
			if n := m.n + i; n%5 == 3 {
				col = col.Append(i, nil, 0, 1)
			} else {
				value := &event.Plain{Type: f.Type, Ints: []int64{int64(n)}}
				if f.Type == event.PlainFloat {
					value.Ints[0] = int64(math.Float64bits(float64(n) / 8))
				}
				value.Strings.Append(fmt.Sprint("note ", n))
				col = col.Append(i, value, 0, 1)
			}
		}
		c.Foreign = append(c.Foreign, col)
	}
	m.n += b.Len
	return &c, nil
}

// each calls do for each batch of a source.
func each(src event.Source, do func(*event.Batch) error) error {
	for {
		b, err := src.Next()
		if err == nil {
			err = do(b)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func toStream(t testing.TB, src event.Source) []byte {
	t.Helper()
	var out bytes.Buffer
	w := arrow.NewWriter(&out, src.Header())
	if err := errors.Join(each(src, w.Write), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func fromStream(t testing.TB, stream []byte) event.Source {
	t.Helper()
	r, _, err := arrow.Open(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// foreignStrings counts the rows of a source, each with its foreign values in
// words: a data set has another order.
func foreignStrings(t testing.TB, src event.Source) map[string]int {
	t.Helper()
	all := map[string]int{}
	err := each(src, func(b *event.Batch) error {
		for i, row := range eventtest.Rows(b) {
			text := fmt.Sprint(row)
			for _, f := range b.Foreign {
				word, ok := f.(interface{ Text(i int) (string, bool) }).Text(i)
				text += fmt.Sprintf(" %q %v", word, ok)
			}
			all[text]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
