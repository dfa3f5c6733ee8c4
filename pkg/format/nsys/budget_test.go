package nsys

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// budgets are options with little memory: what is sorted at a time, what is
// merged at a time, and whether the rows are in memory or in the file.
var budgets = []Options{
	tiny,
	{limits: &limits{store: 0, strings: 1 << 20, fanIn: 3, chunkRows: 100}},
	{limits: &limits{store: 4 << 20, strings: 1 << 20, fanIn: 2, chunkRows: 3}},
	{Memory: 64 << 20},
}

// sameInAll reads an export with all budgets: rows and header are the same.
func sameInAll(t *testing.T, paths ...string) []row {
	t.Helper()
	header, want := read(t, paths...)
	for _, opts := range budgets {
		h, got := readWith(t, opts, paths...)
		sameRows(t, got, want)
		if a, b := asJSON(t, h), asJSON(t, header); a != b {
			t.Errorf("%+v: header\n%s\nwant\n%s", opts.limits, a, b)
		}
	}
	return want
}

// TestBudgets reads random traces with little memory.
func TestBudgets(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	seeds := uint64(cases.Few(12, 12, 120))
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				tr, opt := sim.Random(3000 + seed)
				if path, columns := written(t, tr, opt); isExport(columns) {
					sameInAll(t, path)
				}
			})
		}
	})
	left, err := os.ReadDir(dir)
	if n := slices.IndexFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "hostbound") }); err != nil || n >= 0 {
		t.Errorf("a temporary file is left: %v %v", left, err)
	}
}

// TestSeveralInBudget reads reports of one run with little memory.
func TestSeveralInBudget(t *testing.T) {
	sameInAll(t, reports(t, small(func(c *sim.Config) { c.Ranks, c.ClockOffset = 3, []float64{0, 100, 250} }), nil)...)
}

// reordered copies an export, the rows of its tables of events in another order.
func reordered(t *testing.T, path, order string) string {
	t.Helper()
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tables, err := db.Tables()
	if err != nil {
		t.Fatal(err)
	}
	sql := fmt.Sprintf("COMMIT; ATTACH '%s' AS old; BEGIN;", path)
	for name := range tables {
		by := order
		if !slices.ContainsFunc(eventTables, func(e table) bool { return e.name == name }) {
			by = "rowid"
		}
		sql += fmt.Sprintf(`CREATE TABLE %s AS SELECT * FROM old.%[1]s ORDER BY %s;`, name, by)
	}
	return database(t, sql+"COMMIT; DETACH old; BEGIN;")
}

// TestOrderOfRows reads a run whose tables are in order, turned round, shuffled,
// and process after process, with every budget: it is the same rows.
func TestOrderOfRows(t *testing.T) {
	path, _ := written(t, simulate(t, small(func(c *sim.Config) { c.Ranks, c.Devices, c.Frontend, c.Overheads = 3, 2, true, true })), sim.Options{})
	_, plain := read(t, path)
	slices.SortFunc(plain, func(a, b row) int { return slices.Compare(a[:], b[:]) })
	for _, order := range []string{"rowid", "rowid DESC", "rowid * 2654435761 % 1000003", "rowid % 7, rowid", `"end" - start`} {
		t.Run(order, func(t *testing.T) {
			rows := sameInAll(t, reordered(t, path, order))
			if counts := inOrder(t, rows); len(counts) != 4 {
				t.Errorf("rows of ranks %v", counts)
			}
			slices.SortFunc(rows, func(a, b row) int { return slices.Compare(a[:], b[:]) })
			sameRows(t, rows, plain)
		})
	}
}

// TestManyNodes reads one launch of very many kernels.
func TestManyNodes(t *testing.T) {
	const n = 50_000
	path := database(t, calls+`(1, 5, 16777217, 7, 1); `+stringIDs+`(1, 'cudaGraphLaunch_v10000');`+kernels[:strings.Index(kernels, "INSERT")]+
		fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d)
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i * 7919 %% 1000003, i * 7919 %% 1000003 + 5, 0, 7, 7, 16777216, 1, 1, i FROM n`, n))
	h, rows := readWith(t, budgets[1], path)
	launched := 0
	for _, r := range rows {
		if r[event.ColLaunchStart] == "1" {
			launched++
		}
	}
	if facts := h.Reports[0].RankFacts[0]; launched != n || facts.Kernels != n || facts.Replays != 1 {
		t.Errorf("%d rows of the launch, facts %+v", launched, facts)
	}
}

// TestNoRoom reads an export where no temporary file can be, and with names that
// do not fit.
func TestNoRoom(t *testing.T) {
	path, _ := written(t, simulate(t, small(nil)), sim.Options{})
	t.Setenv("TMPDIR", "/nowhere")
	_, err := Open([]string{path}, tiny)
	complain(t, "temporary file", path, err)
	if err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("error %v", err)
	}
	_, err = Open([]string{path}, Options{limits: &limits{store: 1 << 30, strings: 100, fanIn: 2, chunkRows: 100}})
	complain(t, "strings", path, err)
}
