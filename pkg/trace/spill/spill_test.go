package spill

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"
)

const columns = Payload + 3

// made is a run as it was made, row by row.
type made struct {
	order int64
	tag   int
	rows  [][columns]int64
}

// value returns a number of any size, of which few in a column are None.
func value(r *rand.Rand, size int) int64 {
	switch r.IntN(20) {
	case 0:
		return None
	case 1:
		return int64(r.Uint64())
	}
	return int64(r.Uint64() >> (64 - size))
}

// random makes runs whose keys collide and overlap.
func random(r *rand.Rand, runs, rows int) []made {
	all := make([]made, runs)
	for k := range all {
		all[k] = made{order: int64(k / 2), tag: k / 2 * 4 / runs}
		n := 1 + r.IntN(rows)
		from := r.Int64N(int64(rows))
		for i := range n {
			row := [columns]int64{Key: from + r.Int64N(int64(n)), Then: r.Int64N(3), Seq: int64(2*i + k%2)}
			for c := Payload; c < columns; c++ {
				row[c] = value(r, 1+(k+c*17)%63)
			}
			all[k].rows = append(all[k].rows, row)
		}
		slices.SortStableFunc(all[k].rows, func(a, b [columns]int64) int {
			return cmp.Or(cmp.Compare(a[Key], b[Key]), cmp.Compare(b[Then], a[Then]))
		})
	}
	return all
}

// columnsOf returns rows as columns, one of them nil where all is None.
func columnsOf(rows [][columns]int64) Rows {
	to := make(Rows, columns)
	for c := range to {
		some := c < Payload
		for _, row := range rows {
			to[c], some = append(to[c], row[c]), some || row[c] != None
		}
		if !some {
			to[c] = nil
		}
	}
	return to
}

func write(t *testing.T, s *Store, all []made) []*Run {
	t.Helper()
	w := NewWriter(s)
	var runs []*Run
	for _, m := range all {
		if err := w.Write(columnsOf(m.rows)); err != nil {
			t.Fatal(err)
		}
		run, err := w.End(m.order, m.tag)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	return runs
}

// TestMerge compares merges with sorting everything at once, for runs in memory
// and in the file, and for merges of merges.
func TestMerge(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	seeds := uint64(30)
	if os.Getenv("HOSTBOUND_ALL") == "" {
		seeds = 12
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		all := random(r, 2*(1+r.IntN(12)), []int{3, 40, BlockRows - 1, BlockRows, BlockRows + 1, 3 * BlockRows}[seed%6])
		want := sorted(all)
		for _, limit := range []int64{0, slabSize, 1 << 30} {
			for _, fanIn := range []int{2, 3, 1000} {
				s := NewStore(limit)
				m, err := NewMerge(s, write(t, s, all), fanIn)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, m, 1+r.IntN(5000), want)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// sorted returns the rows of runs in their order, as compare has them.
func sorted(all []made) (want []string) {
	type placed struct {
		order int64
		tag   int
		row   [columns]int64
	}
	var rows []placed
	for _, m := range all {
		for _, row := range m.rows {
			rows = append(rows, placed{m.order, m.tag, row})
		}
	}
	slices.SortStableFunc(rows, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.row[Key], b.row[Key]), cmp.Compare(b.row[Then], a.row[Then]), cmp.Compare(a.order, b.order), cmp.Compare(a.row[Seq], b.row[Seq]))
	})
	for _, p := range rows {
		want = append(want, fmt.Sprint(p.tag, p.row[Key], p.row[Then], p.row[Payload:]))
	}
	return want
}

func compare(t *testing.T, m *Merge, limit int, want []string) {
	t.Helper()
	n := 0
	for {
		run, rows, i, j, err := m.Next(limit)
		if err != nil {
			t.Fatal(err)
		}
		if i == j {
			break
		}
		for ; i < j; i++ {
			row := []int64{}
			for c := Payload; c < columns; c++ {
				row = append(row, rows[c][i])
			}
			if got := fmt.Sprint(run.Tag, rows[Key][i], rows[Then][i], row); n >= len(want) || got != want[n] {
				t.Fatalf("row %d of %d is %s, want %s", n, len(want), got, want[min(n, len(want)-1)])
			}
			n++
		}
	}
	if n != len(want) {
		t.Fatalf("%d rows of %d", n, len(want))
	}
}

// TestScan reads some columns of the blocks that may have some keys.
func TestScan(t *testing.T) {
	s := NewStore(1 << 30)
	defer s.Close()
	keys := make([]int64, 5*BlockRows)
	for i := range keys {
		keys[i] = int64(i / 3)
	}
	w := NewWriter(s)
	if err := w.Write(Rows{keys, keys, keys, nil, keys}); err != nil {
		t.Fatal(err)
	}
	run, err := w.End(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, span := range [][2]int64{{0, 0}, {500, 700}, {1700, 1e9}, {-5, 1e9}} {
		seen := map[int64]int{}
		err := s.Scan([]*Run{run}, Columns(Key, 4), span[0], span[1], func(rows Rows) error {
			for i, key := range rows[Key] {
				if seen[key]++; rows[4][i] != key {
					t.Fatalf("%d beside key %d", rows[4][i], key)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if key >= span[0] && key <= span[1] && seen[key] != 3 && key != keys[len(keys)-1] {
				t.Fatalf("span %v: %d rows of key %d", span, seen[key], key)
			}
		}
	}
}

// TestIndex finds the first row of each key, and none of keys that are not there.
func TestIndex(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		all := random(r, 2*(1+r.IntN(6)), 1500)
		type first struct{ then, order, seq, value int64 }
		want := map[int64]first{}
		for k := range all {
			all[k].rows = slices.CompactFunc(all[k].rows, func(a, b [columns]int64) bool { return a[Key] == b[Key] })
			for _, row := range all[k].rows {
				f := first{-row[Then], all[k].order, row[Seq], row[Payload]}
				old, ok := want[row[Key]]
				if !ok || cmp.Or(cmp.Compare(f.then, old.then), cmp.Compare(f.order, old.order), cmp.Compare(f.seq, old.seq)) < 0 {
					want[row[Key]] = f
				}
			}
			all[k].tag = 0
		}
		s := NewStore(int64(seed%2) << 30)
		runs := write(t, s, all)
		for _, fanIn := range []int{2, 100} {
			x, err := NewIndex(s, runs, fanIn)
			if err != nil {
				t.Fatal(err)
			}
			var hint Hint
			for i := range 6000 {
				key := int64(i/2 - 10)
				if i%3 == 0 {
					key = r.Int64N(3200) - 10
				}
				rows, at, ok, err := x.Find(key, &hint)
				if f, has := want[key]; err != nil || ok != has || ok && (rows[Key][at] != key || rows[Payload][at] != f.value) {
					t.Fatalf("seed %d, fan-in %d, key %d: found %v, want %v: %v", seed, fanIn, key, ok, has, err)
				}
			}
			if n, err := CountKeys(s, runs, fanIn); err != nil || n != int64(len(want)) {
				t.Errorf("%d keys, want %d: %v", n, len(want), err)
			}
		}
		s.Close()
	}
}

// TestNoFile checks that the temporary file has no name while it is in use, and
// that an error says where it cannot be.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := NewStore(0)
	piece := make([]byte, MaxRecord)
	for i := range 3 {
		piece[0] = byte(i)
		at, err := s.Put(piece)
		if err != nil {
			t.Fatal(err)
		}
		var scratch []byte
		if got, err := s.Get(at, len(piece), &scratch); err != nil || got[0] != byte(i) {
			t.Fatalf("piece %d: %v", i, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("a file is there: %v %v", left, err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	if _, err := NewStore(0).Put(piece); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkEncode(b *testing.B) {
	rows := columnsOf(random(rand.New(rand.NewPCG(1, 1)), 1, 1<<16)[0].rows).Slice(0, BlockRows)
	var buf []byte
	var p packer
	for b.Loop() {
		p.plan(rows, 0)
		buf = slices.Grow(buf[:0], p.size)[:p.size]
		p.pack(buf)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*BlockRows), "ns/row")
}

// TestSizeOfLog wants logs of few rows to be small: there is one for each row of a
// comparison and rank.
func TestSizeOfLog(t *testing.T) {
	if n := unsafe.Sizeof(Log{}); n > 1<<10 {
		t.Errorf("a log takes %d bytes without a row", n)
	}
}
