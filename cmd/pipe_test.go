package cmd

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// runs are simulated runs of every kind that isolate tells apart.
var runs = map[string][]string{
	"node":     {"--ranks", "2", "--steps", "12", "--layers", "4"},
	"graph":    {"--ranks", "2", "--steps", "12", "--layers", "4", "--mode", "graph"},
	"eager":    {"--ranks", "1", "--steps", "12", "--layers", "4", "--mode", "eager"},
	"nomarker": {"--ranks", "2", "--steps", "12", "--layers", "4", "--markers", "none"},
	"vllm":     {"--ranks", "1", "--steps", "12", "--layers", "4", "--markers", "vllm"},
}

func TestPipeEqualsSingleProcess(t *testing.T) {
	t.Parallel()
	traces := map[string]string{}
	for name, args := range runs {
		traces[name] = generate(t, args...)
	}
	for seed := range cases.Few(4, 4, 20) {
		traces[fmt.Sprint("random", seed)] = generate(t, "--random", strconv.Itoa(seed))
	}
	answers := 0
	for name, trace := range traces {
		stream := must(t, nil, "nsys2arrow", trace)
		isolated := call(t, stream, "isolate")
		if single := call(t, nil, "verdict", trace, "--format", "json"); isolated.status != 0 {
			if single.status != isolated.status {
				t.Errorf("%s: isolate ends with %d, verdict FILE with %d", name, isolated.status, single.status)
			}
			continue
		}
		phased := must(t, []byte(isolated.stdout), "phase")
		rows := must(t, phased, "metrics")
		for _, format := range []string{"json", "text"} {
			pipe := must(t, rows, "verdict", "--format", format)
			single := must(t, nil, "verdict", trace, "--format", format)
			if !bytes.Equal(pipe, single) {
				t.Errorf("%s: %s of the pipe differs from that of verdict FILE:\n%s\n%s", name, format, pipe, single)
			}
		}
		if whole := must(t, nil, "metrics", trace, "--format", "arrow"); !bytes.Equal(whole, rows) {
			t.Errorf("%s: the metric rows of the pipe differ from those of metrics FILE", name)
		}
		answers++
	}
	if answers < len(runs) {
		t.Errorf("only %d traces gave an answer", answers)
	}
}

// The idle time with a host cause is one figure: what metrics adds up is what gaps lists by cause, where copies count
// as activity, too.
func TestHostCausesOfMetricsAndGaps(t *testing.T) {
	t.Parallel()
	for name, args := range runs {
		if name == "graph" { // which has waits in collectives of some steps only
			continue
		}
		trace := generate(t, args...)
		for _, busy := range []string{"kernels", "all"} {
			rows := metricRows(t, must(t, nil, "metrics", trace, "--busy", busy, "--window", "trace", "--format", "csv"))
			var rep gap.Report
			if err := json.Unmarshal(must(t, nil, "gaps", trace, "--busy", busy, "--window", "trace", "--format", "json"), &rep); err != nil {
				t.Fatal(err)
			}
			host := int64(0)
			for _, c := range rep.Idle.Causes {
				if !slices.Contains([]string{idle.Graph.String(), idle.Queued.String(), idle.Tail.String()}, c.Cause) {
					host += int64(math.Round(c.Us * 1e3))
				}
			}
			if got := rows["aggregate "+metric.HostBound][0] - rows["aggregate "+metric.HostWait][0]; host == 0 || got != host {
				t.Errorf("%s, --busy %s: metrics has %d ns, gaps %d", name, busy, got, host)
			}
		}
	}
}

func TestRanksInOneFileOrTwo(t *testing.T) {
	t.Parallel()
	for seed := range 6 {
		args := []string{"--ranks", "2", "--steps", "10", "--layers", "3", "--seed", strconv.Itoa(seed)}
		together := generate(t, args...)
		files := reports(generate(t, append(args, "--reports")...), 2)
		one := must(t, nil, "metrics", together, "--format", "csv")
		two := must(t, nil, "metrics", append(files, "--format", "csv")...)
		if !bytes.Equal(one, two) {
			t.Errorf("seed %d: one file with two ranks:\n%s\ntwo files:\n%s", seed, one, two)
		}
		checkShards(t, two, must(t, nil, "metrics", files[0], "--format", "csv"), must(t, nil, "metrics", files[1], "--format", "csv"))
	}
}

// checkShards checks that the metric rows of shards add up to those of the whole. How long
// ranks wait for one another no shard knows: of what is the host's, the idle time adds up.
func checkShards(t *testing.T, whole []byte, shards ...[]byte) {
	t.Helper()
	sums := map[string][2]int64{}
	for _, s := range shards {
		for key, v := range metricRows(t, s) {
			sum := sums[key]
			sums[key] = [2]int64{sum[0] + v[0], sum[1] + v[1]}
		}
	}
	want := metricRows(t, whole)
	if len(want) < 18 {
		t.Errorf("only %d metric rows", len(want))
	}
	for key, v := range want {
		scope, name, _ := strings.Cut(key, " ")
		switch name {
		case metric.CollectiveWait, metric.HostWait:
			continue
		case metric.HostBound:
			v[0] -= want[scope+" "+metric.HostWait][0]
			sum := sums[key]
			sums[key] = [2]int64{sum[0] - sums[scope+" "+metric.HostWait][0], sum[1]}
		}
		if sums[key] != v {
			t.Errorf("%s: the shards add up to %d, the whole has %d", key, sums[key], v)
		}
	}
}

// metricRows returns numerator and denominator by scope and metric.
func metricRows(t *testing.T, text []byte) map[string][2]int64 {
	t.Helper()
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 {
		t.Fatalf("metrics as CSV: %v: %q", err, text)
	}
	rows := map[string][2]int64{}
	for _, r := range records[1:] {
		var v [2]int64
		for i := range v {
			if v[i], err = strconv.ParseInt(r[2+i], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		rows[r[0]+" "+r[1]] = v
	}
	return rows
}

// TestCutStreams cuts the stream between any two stages everywhere: nothing but
// "cut short" may come of it.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	trace := generate(t, "--ranks", "1", "--steps", "6", "--warmup", "1", "--layers", "2")
	streams := []struct {
		next string
		data []byte
	}{{next: "isolate", data: must(t, nil, "nsys2arrow", trace)}}
	for _, names := range [][2]string{{"isolate", "phase"}, {"phase", "metrics"}, {"metrics", "verdict"}} {
		last := streams[len(streams)-1].data
		streams = append(streams, struct {
			next string
			data []byte
		}{names[1], must(t, last, names[0])})
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, s := range streams {
		cuts := []int{0, 1, 4, 7, 8, 100, len(s.data) - 1, len(s.data) - 4, len(s.data) - 7, len(s.data) - 8, len(s.data) - 9}
		for range 25 {
			cuts = append(cuts, rng.IntN(len(s.data)))
		}
		for _, n := range cuts {
			for _, command := range []string{s.next, "verdict"} {
				r := call(t, s.data[:n], command)
				if r.status != 2 || r.stdout != "" && command == "verdict" || !strings.Contains(r.stderr, "cut short") {
					t.Errorf("%s on %d of %d bytes: status %d, %d bytes written, %s", command, n, len(s.data), r.status, len(r.stdout), r.stderr)
				}
			}
		}
		if r := call(t, append(bytes.Clone(s.data), s.data...), s.next); r.status != 2 {
			t.Errorf("%s takes two streams one after the other: status %d", s.next, r.status)
		}
	}
}

// TestKilledWriter kills the first process of a pipe while it writes.
func TestKilledWriter(t *testing.T) {
	trace := generate(t, "--events", "60000", "--layers", "4")
	first := exec.Command("nsys2arrow", trace)
	out, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 300_000)
	n, err := out.Read(part)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if first.Wait(); first.ProcessState.Success() {
		t.Fatal("the writer was not killed")
	}
	r := call(t, part[:n], "verdict")
	if r.status != 2 || r.stdout != "" || !strings.Contains(r.stderr, "cut short") {
		t.Errorf("status %d, stdout %q, stderr %s", r.status, r.stdout, r.stderr)
	}
}

// TestNoSecrets looks for what was planted in the capture's environment, command
// line, user, host and process names in all that any command writes.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	const canary = "CANARY-7d03fe"
	traces := map[string]string{}
	for _, name := range []string{"node", "vllm", "graph", "eager", "nomarker"}[:cases.Few(1, 1, 5)] {
		traces[generate(t, append(runs[name], "--canary", canary, "--empty-tables")...)] = name
	}
	if !testing.Short() {
		traces[generate(t, "--rocpd", "--canary", canary, "--steps", "12", "--layers", "4")] = "rocpd" // of both processes
	}
	secrets := map[string]string{}
	for trace := range traces {
		if !contains(t, trace, canary) {
			t.Fatalf("%s holds no canary", traces[trace])
		}
		secrets[trace] = canary
	}
	for _, env := range []string{"HOSTBOUND_TRACES", "HOSTBOUND_KINETO"} {
		for _, pattern := range []string{"real/*.sqlite", "canary*.json.gz"} {
			real, _ := filepath.Glob(filepath.Join(os.Getenv(env), pattern))
			for _, trace := range real[:min(len(real), cases.Few(1, 1, 100))] {
				if contains(t, trace, "CANARY-4f1c9a") {
					secrets[trace] = "CANARY-4f1c9a"
				}
			}
		}
	}
	for trace, secret := range secrets {
		dir := t.TempDir()
		for _, line := range everyOutput {
			args := strings.Fields(strings.NewReplacer("TRACE", trace, "DIR", dir).Replace(line))
			r := call(t, nil, args[0], args[1:]...)
			if r.status != 0 && traces[trace] != "" {
				t.Errorf("%s: %s", strings.Join(args, " "), r.stderr)
			}
			if strings.Contains(r.stdout+r.stderr, secret) {
				t.Errorf("%s writes a secret of the capture", strings.Join(args, " "))
			}
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, path := range files {
			if contains(t, path, secret) {
				t.Errorf("%s of %s holds a secret of the capture", filepath.Base(path), trace)
			}
		}
		rows := must(t, nil, "nsys2arrow", filepath.Join(dir, "rows.parquet"), "--format", "csv")
		if bytes.Contains(rows, []byte(secret)) {
			t.Errorf("the rows of the checkpoint of %s hold a secret", trace)
		}
	}
}

// everyOutput is a command line for each form that something of a trace is written in.
var everyOutput = []string{
	"nsys2arrow TRACE --format arrow", "nsys2arrow TRACE --format table", "nsys2arrow TRACE --format csv", "nsys2arrow TRACE --format json",
	"nsys2arrow TRACE -o DIR/rows.parquet", "nsys2arrow TRACE --doctor", "nsys2arrow TRACE --doctor --format json",
	"isolate TRACE --format csv", "phase TRACE --format arrow",
	"metrics TRACE --format arrow", "metrics TRACE --format csv",
	"verdict TRACE", "verdict TRACE --format json", "verdict TRACE -o DIR/verdict.html --junit DIR/verdict.xml",
	"gaps TRACE", "gaps TRACE --format json", "gaps TRACE --report idle --format csv", "gaps TRACE -o DIR/gaps.html",
	"gaps TRACE --flame DIR/a.folded", "gaps TRACE --flame DIR/a.pb.gz", "gaps TRACE --flame DIR/a.speedscope.json",
	"gaps TRACE --perfetto DIR/a.json",
	"diff TRACE TRACE --why", "diff TRACE TRACE --format json --why", "diff TRACE TRACE -o DIR/diff.html --junit DIR/diff.xml",
}

// contains reports whether a file has a text in it, decompressed where it is gzip.
func contains(t *testing.T, path, text string) bool {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if in, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		if data, err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
	return bytes.Contains(data, []byte(text))
}
