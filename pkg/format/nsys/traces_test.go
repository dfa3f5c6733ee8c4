package nsys

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

var update = flag.Bool("update", false, "write the expected rows of text traces anew; look at what changed")

const traceDir = "../../../testdata/traces"

// TestTraces reads every text trace, each of which has one odd thing, and
// compares what comes out with the file of its name in testdata/traces: the
// warnings and the rows, without the columns that are null. The reference
// has to agree.
func TestTraces(t *testing.T) {
	ours, err := filepath.Glob("testdata/traces/*.trace")
	if err != nil {
		t.Fatal(err)
	}
	shared, err := filepath.Glob(traceDir + "/*.trace")
	if err != nil || len(shared) < 20 {
		t.Fatalf("%d traces in %s: %v", len(shared), traceDir, err)
	}
	for _, path := range append(ours, shared...) {
		name := strings.TrimSuffix(filepath.Base(path), ".trace")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			tr, opt := parse(t, string(text))
			file, columns := written(t, tr, opt)
			h := sameAsReference(t, newReference(tr, columns), file)
			_, rows := read(t, file)
			golden(t, filepath.Join("testdata/traces", name+".rows"), describeRows(h, rows))
		})
	}
}

func parse(t testing.TB, text string) (*sim.Trace, sim.Options) {
	t.Helper()
	tr, opt, err := sim.ParseText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return tr, opt
}

// golden compares a text with that of a file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// describeRows writes warnings and rows for people: the null columns left out.
func describeRows(h *event.Header, rows []row) string {
	var b strings.Builder
	rep := &h.Reports[0]
	fmt.Fprintf(&b, "nsys %q schema %q capture %q origin %d ranks %v\n", rep.Version, rep.Schema, rep.Capture, rep.Origin, rep.Ranks)
	for _, w := range rep.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, f := range rep.RankFacts {
		if f.Unrecorded != nil {
			fmt.Fprintf(&b, "rank %d unrecorded %v\n", f.Rank, f.Unrecorded)
		}
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "%s %s..%s", r[event.ColKind], r[event.ColStart], r[event.ColEnd])
		for c, v := range r {
			if v != "-" && event.Col(c) > event.ColEnd {
				fmt.Fprintf(&b, " %s=%s", event.Fields[c].Name, v)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
