package checkpoint

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// reportOf returns the header and the rows of one report of a trace.
func reportOf(h *event.Header, rows []eventtest.Row, i int) (*event.Header, []eventtest.Row) {
	one := *h
	one.Reports = h.Reports[i : i+1]
	var own []eventtest.Row
	for _, r := range rows {
		if slices.Contains(h.Reports[i].Ranks, r.Rank) || i == 0 && r.Rank < 0 {
			own = append(own, r)
		}
	}
	return &one, own
}

// reports is a trace out of several reports, and what each was made of.
type reports struct {
	header *event.Header
	rows   []eventtest.Row
	source []Identity
}

func newReports(t *testing.T) *reports {
	for seed := uint64(0); ; seed++ {
		h, rows := trace(seed)
		if len(h.Reports) < 2 || otherRanks(h, rows) < 2 {
			continue
		}
		return &reports{h, rows, []Identity{{Size: 1, Edges: "a"}, {Size: 2, Edges: "b"}}}
	}
}

// update brings the data set up to date as a command does, and returns the
// names of the parts that it wrote.
func (r *reports) update(t *testing.T, dir string) []string {
	t.Helper()
	set, err := OpenSet(dir)
	if err != nil {
		t.Fatal(err)
	}
	var written []string
	for i := range r.header.Reports {
		h, rows := reportOf(r.header, r.rows, i)
		name := fmt.Sprint("report-", i)
		if set.Holds(h, name, &r.source[i]) {
			continue
		}
		w := set.Create(h, Options{Name: name, Source: &r.source[i]})
		copyRows(t, w, h, rows)
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		written = append(written, name)
	}
	if err := set.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(dir, ReadOptions{}); err != nil {
		t.Error(err)
	}
	return written
}

// times returns when each file of a data set was written.
func times(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	all := map[string]time.Time{}
	files, _ := filepath.Glob(filepath.Join(dir, "rank=*", "*.parquet"))
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		all[f] = info.ModTime()
	}
	return all
}

// TestResume updates a data set whose reports stay, change and get damaged.
func TestResume(t *testing.T) {
	r, dir := newReports(t), t.TempDir()
	if got := r.update(t, dir); len(got) != 2 {
		t.Errorf("wrote %v", got)
	}
	_, back := mustRead(t, dir, ReadOptions{})
	same(t, back, inSetOrder(r.rows))
	before := times(t, dir)
	if got := r.update(t, dir); len(got) != 0 {
		t.Errorf("wrote %v though nothing had changed", got)
	}
	for path, at := range times(t, dir) {
		if !at.Equal(before[path]) {
			t.Errorf("%s was written again", path)
		}
	}

	r.source[1].Time++
	if got := r.update(t, dir); !slices.Equal(got, []string{"report-1"}) {
		t.Errorf("wrote %v for a change of report 1", got)
	}
	damaged := filepath.Join(dir, "rank=0", "report-0.parquet")
	b, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/3] ^= 1
	if err := os.WriteFile(damaged, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(dir, ReadOptions{}); err == nil {
		t.Error("a damaged file was not found")
	}
	if got := r.update(t, dir); !slices.Equal(got, []string{"report-0"}) {
		t.Errorf("wrote %v for damage in report 0", got)
	}
	_, back = mustRead(t, dir, ReadOptions{})
	same(t, back, inSetOrder(r.rows))
}

// TestStale checks that files of ranks that are gone do not stay.
func TestStale(t *testing.T) {
	r, dir := newReports(t), t.TempDir()
	r.update(t, dir)
	precious := filepath.Join(dir, "rank=0", "precious.parquet")
	leftovers := []string{filepath.Join(dir, "rank=0", ".report-0.parquet123"), filepath.Join(dir, "._hostbound.json123")}
	for _, path := range append(leftovers, precious) {
		if err := os.WriteFile(path, []byte("PAR1"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, rows := reportOf(r.header, r.rows, 0)
	write(t, dir, h, rows, Options{})
	_, back := mustRead(t, dir, ReadOptions{})
	same(t, back, inSetOrder(rows))
	for path := range times(t, dir) {
		if filepath.Base(path) != "events.parquet" && path != precious {
			t.Errorf("%s stayed", path)
		}
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error("removed a file of somebody else")
	}
	for _, path := range leftovers {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("what a killed writer left stayed: %s", path)
		}
	}
}

// TestAbort checks that what was there before stays.
func TestAbort(t *testing.T) {
	h, rows := trace(2)
	other, others := trace(9)
	for _, name := range []string{"x.parquet", "set"} {
		path := filepath.Join(t.TempDir(), name)
		write(t, path, h, rows, Options{})
		_, want := mustRead(t, path, ReadOptions{})
		w, err := Create(path, other, Options{})
		if err != nil {
			t.Fatal(err)
		}
		copyRows(t, w, other, others)
		w.Abort()
		if w.Commit() == nil {
			t.Error("committed after Abort")
		}
		_, back := mustRead(t, path, ReadOptions{})
		same(t, back, want)
		left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
		if left2, _ := filepath.Glob(filepath.Join(path, "*", ".*")); len(left)+len(left2) > 0 {
			t.Errorf("left %v %v", left, left2)
		}
	}
}

// TestAbandon leaves no folder that a data set made and kept nothing in.
func TestAbandon(t *testing.T) {
	h, rows := trace(2)
	for name, test := range map[string]struct{ there, kept, stays bool }{"new": {}, "there": {there: true, stays: true}, "kept": {kept: true, stays: true}} {
		dir := filepath.Join(t.TempDir(), "set[1]")
		if test.there {
			os.Mkdir(dir, 0o755)
		}
		set, err := OpenSet(dir)
		if err != nil {
			t.Fatal(err)
		}
		w := set.Create(h, Options{})
		copyRows(t, w, h, rows)
		if test.kept {
			if err := w.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		w.Abort()
		os.Mkdir(filepath.Join(dir, "rank=77"), 0o755) // of a file that did not appear
		set.Abandon()
		if _, err := os.Stat(dir); (err == nil) != test.stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRefused checks what is no checkpoint.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "precious.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, &event.Header{Columns: event.BaseCols}, Options{}); err == nil {
		t.Error("wrote into a directory that holds something else")
	}
	if _, _, err := read(dir, ReadOptions{}); err == nil {
		t.Error("read a directory without a checkpoint")
	}
	h, rows := trace(1)
	set := filepath.Join(t.TempDir(), "set")
	write(t, set, h, rows, Options{})
	part, err := filepath.Glob(filepath.Join(set, "rank=*", "*.parquet"))
	if err != nil || len(part) == 0 {
		t.Fatal(part, err)
	}
	for _, name := range []string{part[0], filepath.Join(set, manifestName)} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		_, _, err := read(set, ReadOptions{})
		var hint interface{ Hint() string }
		if err == nil || !errors.As(err, &hint) || !strings.Contains(hint.Hint(), "run the command that writes") {
			t.Errorf("data set without %s: %v", filepath.Base(name), err)
		}
	}
}

// killedEnv makes the test binary a writer that is to be killed.
const killedEnv = "HOSTBOUND_TEST_WRITE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedEnv); dir != "" {
		if err := writeForKill(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// killTrace is a trace of 8 reports of a rank each.
func killTrace(i int) (*event.Header, []eventtest.Row) {
	h := &event.Header{Stage: "nsys2arrow", Columns: event.BaseCols, Reports: []event.Report{{File: fmt.Sprint("r", i), Ranks: []int32{int32(i)}}}}
	rng := rand.New(rand.NewPCG(uint64(i), 3))
	var rows []eventtest.Row
	for k := range 3000 {
		rank := int32(i)
		if k%10 == 0 {
			rank = noRank
		}
		rows = append(rows, eventtest.New(event.API, rank, int64(k), int64(k)+rng.Int64N(100), fmt.Sprint("call ", rng.IntN(50))))
	}
	slices.SortStableFunc(rows, func(a, b eventtest.Row) int { return int(b.Rank - a.Rank) })
	return h, rows
}

const killParts = 8

func writeForKill(dir string) error {
	set, err := OpenSet(dir)
	if err != nil {
		return err
	}
	fmt.Println("started")
	for i := range killParts {
		h, rows := killTrace(i)
		name, source := fmt.Sprint("r", i), &Identity{Size: int64(i)}
		if set.Holds(h, name, source) {
			continue
		}
		w := set.Create(h, Options{Name: name, Source: source, GroupRows: 500})
		if err != nil {
			return err
		}
		src := eventtest.Source(h, rows, 100)
		for {
			b, err := src.Next()
			if err == io.EOF {
				break
			}
			if err := w.Write(b); err != nil {
				return err
			}
		}
		if err := w.Commit(); err != nil {
			return err
		}
	}
	return set.Commit()
}

// TestKill kills a writer again and again. What it leaves is refused as
// unfinished or complete and right; in the end the data set is complete.
func TestKill(t *testing.T) {
	if os.Getenv("HOSTBOUND_ALL") == "" {
		t.Skip("HOSTBOUND_ALL=1 takes it")
	}
	var want []eventtest.Row
	for i := range killParts {
		_, rows := killTrace(i)
		want = append(want, rows...)
	}
	want = inSetOrder(want)
	dir := filepath.Join(t.TempDir(), "set")
	rng := rand.New(rand.NewPCG(1, 5))
	refused, complete := 0, 0
	for range 50 {
		if complete > 0 && rng.IntN(3) == 0 {
			os.RemoveAll(dir)
		}
		runKilled(t, dir, time.Duration(rng.IntN(60))*time.Millisecond)
		_, rows, err := read(dir, ReadOptions{})
		if err != nil {
			refused++
			continue
		}
		complete++
		same(t, rows, want)
	}
	t.Logf("%d refused, %d complete", refused, complete)
	runKilled(t, dir, time.Minute)
	_, rows := mustRead(t, dir, ReadOptions{})
	same(t, rows, want)
	if left, _ := filepath.Glob(filepath.Join(dir, "*", ".*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// runKilled runs a writer and kills it after a while.
func runKilled(t *testing.T, dir string, after time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killedEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	for lines.Scan() {
		t.Error(lines.Text())
	}
	cmd.Wait()
	timer.Stop()
}

func TestIdentify(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.sqlite")
	var last string
	for i, size := range []int{0, 10, edge, edge + 1, 5 * edge} {
		if err := os.WriteFile(path, make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{path, dir} {
			id, err := Identify(p)
			if err != nil {
				t.Fatal(err)
			}
			if id.Size != int64(size) || p == path && id.String() == last {
				t.Errorf("%d: %v", i, id)
			}
			last = id.String()
		}
	}
	if _, err := Identify(filepath.Join(dir, "none")); err == nil {
		t.Error("identified what is not there")
	}
}

// TestForeign carries columns that nobody knows.
func TestForeign(t *testing.T) {
	h, rows := trace(4)
	h.Foreign = event.PlainFields{{Name: "note", Type: event.PlainText}, {Name: "weight", Type: event.PlainFloat}, {Name: "mark", Type: event.PlainInt}}
	path := filepath.Join(t.TempDir(), "x.parquet")
	w, err := Create(path, h, Options{GroupRows: 50})
	if err != nil {
		t.Fatal(err)
	}
	src := eventtest.Source(h, rows, 64)
	for n := 0; ; {
		b, err := src.Next()
		if err == io.EOF {
			break
		}
		c := *b
		record, weight, mark := &event.Plain{Strings: event.Strings{Offsets: []int32{0}}}, &event.Plain{Type: event.PlainFloat}, &event.Plain{Type: event.PlainInt}
		for i := range b.Len {
			record.Strings.Append(fmt.Sprint("note ", n+i))
			weight.Ints, mark.Ints = append(weight.Ints, int64(math.Float64bits(float64(n+i)/2))), append(mark.Ints, int64(n+i))
		}
		c.Foreign = []event.Foreign{record, weight, mark}
		if n == 128 {
			c.Foreign = nil // null in this batch
		}
		if err := w.Write(&c); err != nil {
			t.Fatal(err)
		}
		n += b.Len
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Header().Foreign; !reflect.DeepEqual(got, h.Foreign) {
		t.Errorf("columns %v", got)
	}
	n := 0
	for {
		b, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len {
			record, ok := b.Foreign[0].(*event.Plain).Text(i)
			mark, _ := b.Foreign[2].(*event.Plain).Text(i)
			if null := n >= 128 && n < 192; ok == null || !null && (record != fmt.Sprint("note ", n) || mark != fmt.Sprint(n)) {
				t.Fatalf("row %d: %q, %v, %q", n, record, ok, mark)
			}
			n++
		}
	}
	if n != len(rows) {
		t.Errorf("%d rows of %d", n, len(rows))
	}
}

// TestManyRanks checks that memory does not grow with the ranks of a data set.
func TestManyRanks(t *testing.T) {
	h := &event.Header{Stage: "nsys2arrow", Columns: event.BaseCols}
	const ranks = 64
	for i := range int32(ranks) {
		h.Reports = append(h.Reports, event.Report{File: fmt.Sprint("r", i), Ranks: []int32{i}})
	}
	w, err := Create(filepath.Join(t.TempDir(), "set"), h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	b.Reset(h.Columns)
	for i := range event.BatchRows {
		eventtest.Append(&b, eventtest.New(event.API, 0, int64(i), int64(i+1), "cudaLaunchKernel"))
	}
	var most int64
	for rank := range int32(ranks) {
		b.Rank.Fill(0, b.Len, rank)
		for range 10 {
			if err := w.Write(&b); err != nil {
				t.Fatal(err)
			}
		}
		held := int64(0)
		for _, p := range w.parts {
			held += p.out.Held()
		}
		most = max(most, held)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if most > 2*holdLimit {
		t.Errorf("%d MiB are held", most>>20)
	}
}
