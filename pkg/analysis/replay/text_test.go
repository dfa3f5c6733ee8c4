package replay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Traces of testdata are text, one odd thing a file, which its first line names. "change" begins
// a scenario as whatif's flags do; a row is
//
//	KIND PLACE START END NAME [cN] [node] [class=C] [rank=N] [-> START END]
//
// in us: PLACE is tN for thread N or sN for stream N, cN the call that a unit is of, or its own
// number of a call; ~ in a name is a blank. What follows the arrow is where the row is then, reckoned by hand; rows
// without it stay.

// moved is a row and where it is expected.
type moved struct {
	row        eventtest.Row
	start, end int64
}

// parseText reads a trace.
func parseText(t *testing.T, path string) (s replay.Scenario, all []moved) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(data), "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case f[0] == "change":
			s = parseChange(t, s, f[1:])
		default:
			all = append(all, parseRow(t, n, f))
		}
	}
	calls := map[int64]*eventtest.Row{}
	for i := range all {
		if r := &all[i].row; r.Kind == event.API {
			calls[r.Correlation] = r
		}
	}
	for i := range all {
		r := &all[i].row
		if c := calls[r.Correlation]; c != nil && r.Kind.IsGPU() {
			r.LaunchStart, r.LaunchEnd, r.LaunchThread = c.Start, c.End, c.Thread
		}
	}
	slices.SortStableFunc(all, func(a, b moved) int { return int(a.row.Start - b.row.Start) })
	return s, all
}

func parseChange(t *testing.T, s replay.Scenario, f []string) replay.Scenario {
	t.Helper()
	for i := 0; i < len(f); i += 2 {
		if f[i] == "--waits" {
			s.Keep = f[i+1] == "keep"
			continue
		}
		c, err := replay.Parse(strings.TrimPrefix(f[i], "--"), f[i+1])
		if err != nil {
			t.Fatal(err)
		}
		s.Changes = append(s.Changes, c)
	}
	return s
}

func parseRow(t *testing.T, line int, f []string) moved {
	t.Helper()
	us := func(text string) int64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("line %d: %v", line+1, err)
		}
		return int64(v * 1000)
	}
	m := moved{row: eventtest.New(event.KindCode(f[0]), 0, us(f[2]), us(f[3]), strings.ReplaceAll(f[4], "~", " "))}
	r := &m.row
	number, err := strconv.ParseInt(f[1][1:], 10, 64)
	if r.Kind < 0 || err != nil {
		t.Fatalf("line %d: %q", line+1, f)
	}
	if f[1][0] == 's' {
		r.Stream, r.Device = number, 0
	} else {
		r.Thread = number
	}
	r.Correlation = int64(1000 + line)
	if r.Kind == event.API {
		r.Class = cudaname.ClassAPI(r.Name)
	}
	m.start, m.end = r.Start, r.End
	for i := 5; i < len(f); i++ {
		key, value, _ := strings.Cut(f[i], "=")
		switch {
		case f[i] == "->":
			m.start, m.end = us(f[i+1]), us(f[i+2])
			i += 2
		case f[i] == "node":
			r.GraphNode = int64(line)
		case key == "class":
			r.Class = event.ClassCode(value)
		case key == "rank":
			r.Rank = int32(us(value) / 1000)
		case key == "cpu":
			r.CPU = int32(us(value) / 1000)
		default:
			r.Correlation = us(f[i][1:]) / 1000
		}
	}
	if r.Stream >= 0 {
		r.Device = r.Rank
	}
	return m
}

// move returns where rows are in a scenario, by their identity.
func move(t *testing.T, all []moved, s replay.Scenario, size int) map[string][2]int64 {
	t.Helper()
	var rows []eventtest.Row
	for _, m := range all {
		rows = append(rows, m.row)
	}
	slices.SortStableFunc(rows, func(a, b eventtest.Row) int { return int(a.Rank - b.Rank) })
	h := eventtest.Header(rows)
	store := spill.NewStore(1 << 20)
	defer store.Close()
	trace, err := replay.Read(eventtest.Source(h, rows, size), store, []replay.Scenario{s})
	if err != nil {
		t.Fatal(err)
	}
	src, err := trace.Move(s, eventtest.Source(h, rows, size))
	if err != nil {
		t.Fatal(err)
	}
	out, err := eventtest.Collect(src)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string][2]int64{}
	for i := range out {
		at[identity(&out[i])] = [2]int64{out[i].Start, out[i].End}
	}
	return at
}

func identity(r *eventtest.Row) string {
	return fmt.Sprint(event.Kinds[r.Kind], " ", r.Rank, " ", r.Name, " ", r.Correlation, " ", r.GraphNode)
}

// TestTexts moves the rows of testdata, and without a change none.
func TestTexts(t *testing.T) {
	paths, _ := filepath.Glob("testdata/*.txt")
	if len(paths) < 10 {
		t.Fatalf("%d texts only", len(paths))
	}
	for _, path := range paths {
		s, all := parseText(t, path)
		for _, size := range []int{1, 2, 8192} {
			still, there := move(t, all, replay.Scenario{}, size), move(t, all, s, size)
			for _, m := range all {
				id := identity(&m.row)
				if got := still[id]; got != [2]int64{m.row.Start, m.row.End} {
					t.Errorf("%s: %s moves without a change: %v to %v ns", path, id, [2]int64{m.row.Start, m.row.End}, got)
				}
				if got := there[id]; got != [2]int64{m.start, m.end} {
					t.Errorf("%s, %s: %s of %d to %d is at %v, not %d to %d", path, s.String(), id, m.row.Start, m.row.End, got, m.start, m.end)
				}
			}
		}
	}
}
