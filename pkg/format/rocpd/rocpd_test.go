package rocpd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/sqlitefile"
)

// shown is what the tables become, in the text form of package sim.
const shown = `# a kernel, a copy, a fill and a replay with their calls, ranges in each other
schema 3.25.0
session utc=1780000000000000000
secret hunter2
gpu 0 MI300X
gpu 1 MI300X
process 100 name=python3
range 1us 90us "_forward_step 1: 0 ctx reqs, 4 gen reqs"
range 2us 9us "load /home/ann/x"
api 10us 12us cudaLaunchKernel_v7000 corr=5
api 13us 14us cudaMemcpyAsync_v3020 corr=6
api 14us 15us cudaMemsetAsync_v3020 corr=7
api 16us 18us cudaGraphLaunch_v10000 corr=8
kernel 15us 20us rmsnorm_kernel corr=5 dev=1
kernel 21us 22us nccl_AllReduce_kernel corr=8 dev=1 graph=7
kernel 22us 23us rmsnorm_kernel corr=8 dev=1 graph=9
kernel 30us 31us rmsnorm_kernel dev=1
memcpy 24us 25us corr=6 bytes=4096 kind=1 dev=1
memset 26us 27us corr=7 bytes=64 dev=1
`

// write writes a trace in the text form as the databases of its processes.
func write(t *testing.T, text string, opt sim.RocpdOptions) (paths []string) {
	t.Helper()
	tr, _, err := sim.ParseText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for p := range tr.Processes {
		path := filepath.Join(dir, fmt.Sprintf("%d_results.db", p))
		opt.Process = int32(p)
		if err := tr.WriteRocpd(path, opt); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// rowsOf returns the rows of files as text.
func rowsOf(t *testing.T, paths ...string) (lines []string, r *Reader) {
	t.Helper()
	r, err := Open(paths, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	rows, err := eventtest.Collect(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range rows {
		class := "-"
		if w.Class >= 0 {
			class = w.Class.String()
		}
		lines = append(lines, fmt.Sprintf("%s %d %d-%d %q %s dev=%d stream=%d tid=%d corr=%d launch=%d-%d/%d node=%d",
			w.Kind, w.Rank, w.Start, w.End, w.Name, class, w.Device, w.Stream, w.Thread, w.Correlation, w.LaunchStart, w.LaunchEnd, w.LaunchThread, w.GraphNode))
	}
	return lines, r
}

const (
	hostRows = `nvtx 0 0-89000 "_forward_step 1: 0 ctx reqs, 4 gen reqs" step dev=-1 stream=-1 tid=100 corr=-1 launch=-1--1/-1 node=-1
nvtx 0 1000-8000 "load x" range dev=-1 stream=-1 tid=100 corr=-1 launch=-1--1/-1 node=-1
api 0 9000-11000 "hipLaunchKernel" launch dev=-1 stream=-1 tid=100 corr=5 launch=-1--1/-1 node=-1
api 0 12000-13000 "hipMemcpyAsync" memop dev=-1 stream=-1 tid=100 corr=6 launch=-1--1/-1 node=-1
api 0 13000-14000 "hipMemsetAsync" memop dev=-1 stream=-1 tid=100 corr=7 launch=-1--1/-1 node=-1
kernel 0 14000-19000 "rmsnorm_kernel" norm dev=1 stream=7 tid=-1 corr=5 launch=9000-11000/100 node=-1
api 0 15000-17000 "hipGraphLaunch" graph_launch dev=-1 stream=-1 tid=100 corr=8 launch=-1--1/-1 node=-1
kernel 0 20000-21000 "rccl_AllReduce_kernel" allreduce dev=1 stream=7 tid=-1 corr=8 launch=15000-17000/100 node=%d
kernel 0 21000-22000 "rmsnorm_kernel" norm dev=1 stream=7 tid=-1 corr=8 launch=15000-17000/100 node=%d
memcpy 0 23000-24000 "memcpy HtoD" - dev=1 stream=7 tid=-1 corr=6 launch=12000-13000/100 node=-1
memset 0 25000-26000 "memset" - dev=1 stream=7 tid=-1 corr=7 launch=13000-14000/100 node=-1
kernel 0 29000-30000 "rmsnorm_kernel" norm dev=1 stream=7 tid=-1 corr=-1 launch=-1--1/-1 node=-1`
)

// TestRows has the same run by both profilers, with and without numbers of graph nodes.
func TestRows(t *testing.T) {
	for _, c := range []struct {
		opt   sim.RocpdOptions
		nodes [2]any
	}{{sim.RocpdOptions{}, [2]any{0, 1}}, {sim.RocpdOptions{Nodes: true}, [2]any{7, 9}}, {sim.RocpdOptions{Systems: true}, [2]any{0, 1}}} {
		lines, r := rowsOf(t, write(t, shown, c.opt)...)
		if got, want := strings.Join(lines, "\n"), fmt.Sprintf(hostRows, c.nodes[0], c.nodes[1]); got != want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.opt, got, want)
		}
		h := r.Header().Reports[0]
		f := h.RankFacts[0]
		if h.Schema != "3" || h.Platform != "amd" || f.Kernels != 4 || f.Replays != 1 || f.Markers != 1 || f.Launches != 1 || f.GraphLaunches != 1 || f.Allreduces != 1 || f.GPUs != 1 ||
			h.AllreduceDevices[0] != 1 || *f.GPUStart != 14000 || *f.GPUEnd != 30000 || h.Capture != "node" || fmt.Sprint(h.GPUs) != "[MI300X]" {
			t.Errorf("%+v: %+v", c.opt, h)
		}
		if w := strings.Join(h.Warnings, "|"); !strings.Contains(w, "1 of 6 GPU rows have no launching call") {
			t.Error(w)
		}
	}
}

// TestProcesses has two processes in a file each, and in one file, as rocpd merges them: the
// one on the lower device is rank 0, and their clock is one.
func TestProcesses(t *testing.T) {
	text := strings.ReplaceAll(shown, "dev=1", "dev=0") + "process 90 name=python3\napi 41us 42us cudaLaunchKernel_v7000 corr=5\nkernel 12us 43us gemm_kernel corr=5 dev=1\n"
	paths := write(t, text, sim.RocpdOptions{})
	apart, _ := rowsOf(t, paths...)
	if n := len(apart); n != 14 || !strings.HasPrefix(apart[12], `kernel 1 11000-42000 "gemm_kernel" gemm dev=1`) || !strings.HasPrefix(apart[13], `api 1 40000-41000`) {
		t.Errorf("%s", strings.Join(apart, "\n"))
	}
	tr, _, err := sim.ParseText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	merged := filepath.Join(t.TempDir(), "merged.db")
	for p := range tr.Processes {
		if err := tr.WriteRocpd(merged, sim.RocpdOptions{Process: int32(p)}); err != nil {
			t.Fatal(err)
		}
	}
	together, r := rowsOf(t, merged)
	const warning = "recordings of several machines"
	if w := fmt.Sprint(r.Header().Warnings()); strings.Join(together, "\n") != strings.Join(apart, "\n") || strings.Contains(w, warning) {
		t.Errorf("in one file:\n%s\n%s", strings.Join(together, "\n"), w)
	}
	change(t, merged, `UPDATE "rocpd_info_nodeID" SET hash = 43`)
	if _, r := rowsOf(t, merged); !strings.Contains(fmt.Sprint(r.Header().Warnings()), warning) {
		t.Error(r.Header().Warnings())
	}
}

// TestRefused wants one line and a hint.
func TestRefused(t *testing.T) {
	whole := write(t, shown, sim.RocpdOptions{})[0]
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	later := strings.NewReplacer("us ", "000us ", "us\n", "000us\n").Replace(shown)
	dir := t.TempDir()
	file := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{file("cut.db", data[:len(data)/2])}, "file is truncated"},
		{[]string{file("copy.db", data), whole}, "it holds the same process as "},
		{[]string{whole, write(t, strings.Replace(later, "process 100", "process 101", 1), sim.RocpdOptions{})[0]}, "does not overlap in time"},
		{write(t, shown, sim.RocpdOptions{Drop: "metadata"}), "no table rocpd_metadata"},
		{write(t, shown, sim.RocpdOptions{Drop: "event"}), "no table rocpd_event_"},
		{write(t, shown, sim.RocpdOptions{Drop: "kernel_dispatch"}), "no table rocpd_kernel_dispatch_"},
	} {
		r, err := Open(c.paths, Options{})
		var hint interface{ Hint() string }
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || !errors.As(err, &hint) || hint.Hint() == "" {
			t.Errorf("%v, want %s", err, c.want)
		}
		if err == nil {
			r.Close()
		}
	}
}

// TestSchema4 refuses a schema in which a track stands in place of columns.
func TestSchema4(t *testing.T) {
	path := changed(t, `ALTER TABLE "rocpd_regionID" RENAME COLUMN tid TO track_id`)
	if _, err := Open([]string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "rocpd_region has no column tid: it is not of schema version 3") {
		t.Error(err)
	}
}

// changed is a file that was changed by a statement, in which ID is what its tables end in.
func changed(t *testing.T, sql string) string {
	t.Helper()
	path := write(t, shown, sim.RocpdOptions{})[0]
	change(t, path, sql)
	return path
}

// change changes a file by a statement.
func change(t *testing.T, path, sql string) {
	t.Helper()
	w, err := sqlitefile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w.Exec(strings.ReplaceAll(sql, "ID\"", "_0197a3c2_5f10_7c4e_9b1d_000000000000\""))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOdd wants what makes no sense left out and counted, and all else kept.
func TestOdd(t *testing.T) {
	for sql, want := range map[string]struct {
		rows    int
		warning string
	}{
		`UPDATE "rocpd_regionID" SET start = -5 WHERE id = 1`:                                      {11, "left out 1 rows that have no usable times"},
		`UPDATE "rocpd_regionID" SET "end" = start - 1 WHERE id = 1`:                               {11, "left out 1 rows that have no usable times"},
		`UPDATE "rocpd_regionID" SET "end" = 9223372036854775807 WHERE id = 1`:                     {11, "left out 1 rows that have no usable times"},
		`UPDATE "rocpd_regionID" SET start = 'soon' WHERE id = 1`:                                  {11, "left out 1 rows that have no usable times"},
		`UPDATE "rocpd_regionID" SET start = 1.5 WHERE id = 1`:                                     {11, "left out 1 rows that have no usable times"},
		`UPDATE "rocpd_kernel_dispatchID" SET pid = 7`:                                             {7, "left out 5 rows that have no usable times or no process"},
		`UPDATE "rocpd_kernel_dispatchID" SET event_id = NULL`:                                     {12, "5 of 6 GPU rows have no launching call"},
		`UPDATE "rocpd_kernel_dispatchID" SET kernel_id = 99, agent_id = -7`:                       {12, "launching call"},
		`UPDATE "rocpd_eventID" SET extdata = '{"message": '`:                                      {12, "launching call"},
		`UPDATE "rocpd_eventID" SET extdata = '{"message": {"a": 1}}'`:                             {12, "launching call"},
		`UPDATE "rocpd_eventID" SET stack_id = 0`:                                                  {12, "no GPU row has a launching call"},
		`DELETE FROM "rocpd_kernel_dispatchID"`:                                                    {7, "no GPU work was recorded"},
		`DELETE FROM "rocpd_eventID"`:                                                              {6, "no GPU row has a launching call"},
		`UPDATE "rocpd_regionID" SET name_id = NULL, tid = NULL WHERE id = 99`:                     {12, "launching call"},
		`UPDATE "rocpd_stringID" SET string = 'HSA_CORE_API' WHERE string = 'HIP_RUNTIME_API_EXT'`: {8, "no GPU row has a launching call"},
	} {
		lines, r := rowsOf(t, changed(t, sql))
		if w := strings.Join(r.Header().Warnings(), "|"); len(lines) != want.rows || !strings.Contains(w, want.warning) {
			t.Errorf("%s: %d rows, want %d: %s", sql, len(lines), want.rows, w)
		}
	}
}

// TestSecrets wants nothing of the machine, the command or its environment to leave the file.
func TestSecrets(t *testing.T) {
	lines, r := rowsOf(t, write(t, shown, sim.RocpdOptions{})...)
	if out := strings.Join(lines, "\n") + fmt.Sprintf("%+v", r.Header()) + fmt.Sprint(r.Header().Metadata()); strings.Contains(out, "hunter2") || strings.Contains(out, "ann") {
		t.Error(out)
	}
}

// TestDamage reads files with wrong bytes, each to its end or to an error of one line.
func TestDamage(t *testing.T) {
	data, err := os.ReadFile(write(t, shown, sim.RocpdOptions{})[0])
	if err != nil {
		t.Fatal(err)
	}
	path, refused := filepath.Join(t.TempDir(), "damaged.db"), 0
	for seed := range uint64(cases.Few(60, 60, 200)) {
		bad, r := slices.Clone(data), rand.New(rand.NewPCG(seed, 0))
		for range 1 + seed%20 {
			bad[100+r.IntN(len(bad)-100)] = byte(r.Uint32())
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := Open([]string{path}, Options{})
		if err == nil {
			_, err = eventtest.Collect(in)
			in.Close()
		}
		if err != nil {
			refused++
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	}
	if refused == 0 || refused == 200 {
		t.Errorf("%d of 200 refused", refused)
	}
}
