package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/arrow"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// ownValues returns a function that forgets the kinds and classes that come after it.
func ownValues() func() {
	kinds, classes := event.Kinds, event.Classes
	return func() { event.Kinds, event.Classes = kinds, classes }
}

// writeUnknown copies a stream with rows of a kind and classes that nobody here
// knows among its rows, and a column. It returns how many rows it added.
func writeUnknown(t *testing.T, from, to string) (added int) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	src, _, err := arrow.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer ownValues()()
	kind, class, fancy := event.AddKind("odd"), event.AddClass("strange"), event.AddClass("fancy")
	h := src.Header()
	h.Foreign = event.PlainFields{{Name: "cpu", Type: event.PlainInt}}
	file, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := arrow.NewWriter(file, h)
	err = event.Each(src, func(b *event.Batch) error {
		next := new(event.Batch)
		next.Reset(b.Columns)
		for i := range b.Len {
			next.AppendRange(b, i, i+1)
			k := next.Len - 1
			if c, ok := b.Class.Get(i); ok && b.Kind.Values[i] == event.Kernel && c == event.Norm {
				next.Class.Set(k, fancy)
			}
			if i%10 > 0 {
				continue
			}
			added++
			k = next.AppendNulls()
			next.Kind.Set(k, kind)
			next.Start.Set(k, b.Start.Values[i])
			next.End.Set(k, b.End.Values[i])
			if r, ok := b.Rank.Get(i); ok {
				next.Rank.Set(k, r)
			}
			next.Thread.Set(k, 100)
			next.Class.Set(k, class)
			next.Name.SetLast("pthread_cond_wait")
		}
		cpu := &event.Plain{Type: event.PlainInt}
		for i := range next.Len {
			cpu.Ints = append(cpu.Ints, int64(i%64))
		}
		next.Foreign = []event.Foreign{cpu}
		return out.Write(next)
	})
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// TestUnknownValues sends a kind, classes and a column that nobody here knows
// through every filter and a checkpoint: they are kept, and no answer changes. It changes what
// kinds there are, so no test runs beside it.
func TestUnknownValues(t *testing.T) {
	defer ownValues()()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	plain := filepath.Join(root, "testdata", "v1", "run.arrows")
	added := writeUnknown(t, plain, at("odd.arrows"))
	must(t, nil, "isolate", at("odd.arrows"), "-o", at("steps.arrows"))
	must(t, nil, "isolate", at("odd.arrows"), "--checkpoint", at("set"), "-o", at("again.arrows"))
	must(t, nil, "phase", at("set"), "-o", at("phased.parquet"))
	must(t, nil, "phase", at("steps.arrows"), "-o", at("phased.arrows"))
	for _, name := range []string{"odd.arrows", "steps.arrows", "again.arrows", "set", "phased.parquet", "phased.arrows"} {
		rows := must(t, nil, "nsys2arrow", at(name), "--format", "csv")
		if n := bytes.Count(rows, []byte("\nodd,")); n != added {
			t.Errorf("%s: %d rows of the unknown kind, want %d", name, n, added)
		}
		if !bytes.Contains(rows, []byte(",fancy,")) || !bytes.Contains(rows, []byte(",strange,")) {
			t.Errorf("%s: unknown classes are lost", name)
		}
		if head, _, _ := bytes.Cut(rows, []byte("\n")); !bytes.HasSuffix(head, []byte(",cpu")) {
			t.Errorf("%s: the unknown column is lost: %s", name, head)
		}
		want := must(t, nil, "verdict", plain, "--format", "json")
		if got := must(t, nil, "verdict", at(name), "--format", "json"); !bytes.Equal(got, want) {
			t.Errorf("%s: another verdict:\n%s\nwant\n%s", name, got, want)
		}
		must(t, nil, "gaps", at(name), "--format", "json")
		must(t, nil, "diff", at(name), "--format", "json")
	}
}

// TestVersion1 reads what the first version wrote: a stream and a checkpoint give
// the verdict that the export gives.
func TestVersion1(t *testing.T) {
	dir := filepath.Join(root, "testdata", "v1")
	verdict := func(name string) string {
		text := must(t, nil, "verdict", filepath.Join(dir, name), "--format", "json")
		line, _, _ := bytes.Cut(text, []byte(","))
		return string(line)
	}
	want := verdict("run.sqlite")
	for _, name := range []string{"run.arrows", "steps.arrows", "phased.parquet"} {
		if got := verdict(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
