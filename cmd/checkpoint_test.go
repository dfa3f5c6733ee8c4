package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// stages are the filters that write events, in their order.
var stages = []string{"nsys2arrow", "isolate", "phase"}

// selections choose rows of a run of some ten steps and 200 ms.
var selections = [][]string{
	nil,
	{"--rank", "1"},
	{"--rank", "0,2"},
	{"--from", "4"},
	{"--from", "2", "--to", "9"},
	{"--from", "60ms", "--to", "90ms"},
	{"--rank", "0", "--from", "55ms"},
	{"--kind", "kernel,step"},
}

// TestCheckpointEqualsStream asks every filter the same of a checkpoint, as a
// file and as a data set, and of the stream of the same stage; whole, also of the
// export.
func TestCheckpointEqualsStream(t *testing.T) {
	t.Parallel()
	inputs := map[string][]string{
		"reports":  reports(generate(t, "--ranks", "3", "--steps", "12", "--layers", "2", "--reports", "--set", `{"ClockOffset":[0,0,700]}`), 3),
		"frontend": {generate(t, "--ranks", "2", "--steps", "12", "--layers", "2", "--set", `{"Frontend":true,"Overheads":true,"GIL":20}`)},
		"graph":    {generate(t, "--ranks", "2", "--steps", "12", "--layers", "2", "--mode", "graph", "--set", `{"Devices":2}`)},
		"vllm":     {generate(t, "--ranks", "2", "--steps", "12", "--layers", "2", "--mode", "eager", "--markers", "vllm")},
	}
	for _, name := range []string{"frontend", "reports", "graph", "vllm"}[:cases.Few(1, 1, 4)] {
		files := inputs[name]
		t.Run(name, func(t *testing.T) {
			for k, stage := range stages {
				dir := t.TempDir()
				stream, file, set := filepath.Join(dir, "s.arrows"), filepath.Join(dir, "c.parquet"), filepath.Join(dir, "set")
				must(t, nil, stage, append(slices.Clone(files), "-o", stream)...)
				must(t, nil, stage, append(slices.Clone(files), "-o", file)...)
				passed := must(t, nil, stage, append(slices.Clone(files), "--checkpoint", set)...)
				if want, err := os.ReadFile(stream); err != nil || !bytes.Equal(passed, want) {
					t.Errorf("%s --checkpoint passes another stream on than without: %v", stage, err)
				}
				for _, selection := range selections {
					compareAnswers(t, stages[k:], stream, []string{file, set}, selection)
				}
				whole := must(t, nil, "verdict", append(slices.Clone(files), "--format", "json")...)
				if got := must(t, nil, "verdict", set, "--format", "json"); !bytes.Equal(got, whole) {
					t.Errorf("%s: verdict from the data set differs from that of the export:\n%s\n%s", stage, got, whole)
				}
			}
		})
	}
}

// compareAnswers asks the filters from a stage on of the stream and of the
// checkpoints what is chosen. Rows are compared as text: as streams they may be
// cut into other batches.
func compareAnswers(t *testing.T, from []string, stream string, checkpoints, selection []string) {
	t.Helper()
	commands := [][]string{{"metrics"}, {"metrics", "--format", "csv"}, {"verdict", "--format", "json"}, {"verdict"}, {"nsys2arrow", "--format", "json"}}
	for _, stage := range from[1:] {
		commands = append(commands, []string{stage, "--format", "json"})
	}
	for _, c := range commands {
		args := slices.Concat(c[1:], selection)
		want := call(t, nil, c[0], append(args, stream)...)
		for _, checkpoint := range checkpoints {
			got := call(t, nil, c[0], append(args, checkpoint)...)
			if got.status != want.status || got.stdout != want.stdout {
				t.Errorf("%s %s of a %s of stage %s: status %d and %d bytes; of the stream status %d and %d bytes\n%s%s", c[0], strings.Join(args, " "),
					filepath.Base(checkpoint), from[0], got.status, len(got.stdout), want.status, len(want.stdout), got.stderr, want.stderr)
			}
		}
	}
}

// TestKeptCheckpoint asks again for a checkpoint of reports that have not changed.
// Their rows come out of it: here the reports are damaged where it must not look.
// A checkpoint that is damaged itself is not trusted.
func TestKeptCheckpoint(t *testing.T) {
	t.Parallel()
	reports := filepath.Join(t.TempDir(), "rank%d.sqlite")
	must(t, nil, "gentrace", "--ranks", "2", "--events", "40000", "--layers", "2", "--reports", "-o", reports)
	set := filepath.Join(t.TempDir(), "set")
	args := []string{fmt.Sprintf(reports, 0), fmt.Sprintf(reports, 1), "--checkpoint", set, "--format", "csv"}
	want := string(must(t, nil, "nsys2arrow", args...))
	files := listFiles(t, set)
	damage(t, args[0])
	if got := call(t, nil, "nsys2arrow", args[0], "--format", "csv"); got.status == 0 {
		t.Fatal("the damage is not seen")
	}
	got := call(t, nil, "nsys2arrow", args...)
	if got.status != 0 || got.stdout != want || !strings.Contains(got.stderr, "already") {
		t.Errorf("the second run: status %d, %d bytes instead of %d, %s", got.status, len(got.stdout), len(want), got.stderr)
	}
	if now := listFiles(t, set); now != files {
		t.Errorf("the second run leaves\n%s\nand not\n%s", now, files)
	}
	leftover := filepath.Join(set, "rank=1", ".report-1.parquet123") // a reason to look again
	if err := os.WriteFile(leftover, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := call(t, nil, "nsys2arrow", args...); got.status != 2 {
		t.Errorf("with a leftover: status %d: %s", got.status, got.stderr)
	}
	if err := os.Remove(leftover); err != nil {
		t.Fatal(err)
	}
	for _, other := range [][]string{ // all of which have to look into the reports
		{args[0], "--checkpoint", set},
		{args[1], args[0], "--checkpoint", set},
		append([]string{"--rank", "0"}, args...),
	} {
		if got := call(t, nil, "nsys2arrow", other...); got.status != 2 {
			t.Errorf("%v: status %d: %s", other, got.status, got.stderr)
		}
	}
	if got := string(must(t, nil, "nsys2arrow", args...)); got != want {
		t.Error("what failed changed the checkpoint")
	}
	part := filepath.Join(set, "rank=0", "report-0.parquet")
	damage(t, part)
	if got := call(t, nil, "nsys2arrow", args...); got.status != 2 {
		t.Errorf("a damaged checkpoint: status %d: %s", got.status, got.stderr)
	}
}

// TestDamagedAnywhere flips one byte of a checkpoint after the other. No answer is made of
// what is left, not even without its first target, which needs columns that nothing else does.
func TestDamagedAnywhere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "steps.parquet")
	must(t, nil, "phase", "../testdata/llama_tp2.sqlite", "-o", path)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := call(t, nil, "verdict", path, "--format", "json")
	only := 0 // damage that only the search for the first target meets
	for at := 0; at < len(whole); at += 1 + len(whole)/cases.Few(60, 60, 600) {
		whole[at] ^= 1
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		whole[at] ^= 1
		if got := call(t, nil, "verdict", path, "--format", "json"); got.status != 2 && got.stdout != want.stdout {
			t.Errorf("byte %d of %d: status %d, another answer", at, len(whole), got.status)
		} else if got.status == 2 && call(t, nil, "metrics", path, "--format", "csv").status == 0 {
			only++
		}
	}
	if only == 0 {
		t.Error("nothing was damaged that only the first target needs")
	}
}

// damage overwrites bytes in the middle of a file, whose size and time stay.
func damage(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, 16<<10), info.Size()/2)
	if err := errors.Join(err, f.Close(), os.Chtimes(path, time.Time{}, info.ModTime())); err != nil {
		t.Fatal(err)
	}
}

// TestKilledCheckpoint kills the writer of a data set at random moments: what it
// leaves is the old data set, the new one, or one that is refused, and the next
// run completes it.
func TestKilledCheckpoint(t *testing.T) {
	cases.Whole(t)
	moments := cases.Few(0, 4, 16) // of each of two writers
	const size = "30000"           // so that much of the time goes into the files' appearing
	trace := generate(t, "--ranks", "8", "--events", size, "--layers", "4", "--seed", "1")
	older := generate(t, "--ranks", "8", "--events", size, "--layers", "4", "--seed", "2")
	rng := rand.New(rand.NewPCG(4, 2))
	refused := 0
	for _, stage := range []string{"nsys2arrow", "phase"} {
		want := string(must(t, nil, "verdict", trace, "--format", "json"))
		before := string(must(t, nil, "verdict", older, "--format", "json"))
		set := filepath.Join(t.TempDir(), "set")
		begun := time.Now()
		runWriter(t, stage, trace, set, time.Hour)
		whole := time.Since(begun)
		complete := listFiles(t, set)
		outcomes := map[string]int{}
		// Which moments are hit is up to the machine: there are more until one lies between
		// the first file and the last.
		for i := 0; i < moments || refused+outcomes["refused"] == 0 && i < 4*moments; i++ {
			if err := os.RemoveAll(set); err != nil {
				t.Fatal(err)
			}
			old := ""
			if i%2 == 0 {
				runWriter(t, stage, older, set, time.Hour)
				old = before
			}
			runWriter(t, stage, trace, set, killMoment(rng, i, whole))
			outcomes[classify(t, set, want, old)]++
			runWriter(t, stage, trace, set, time.Hour)
			if got := call(t, nil, "verdict", set, "--format", "json"); got.stdout != want {
				t.Fatalf("%s: what the next run left gives another answer, status %d: %s", stage, got.status, got.stderr)
			}
			if got := listFiles(t, set); got != complete {
				t.Fatalf("%s: the next run leaves\n%s\nand not\n%s", stage, got, complete)
			}
		}
		t.Logf("%s, killed at random moments within %v: %v", stage, whole, outcomes)
		refused += outcomes["refused"]
	}
	if refused == 0 { // of few moments, on a busy machine
		cases.All(t)
		t.Error("no moment was between the first file and the last")
	}
}

// killMoment returns when to kill a writer that takes so long: at any time, or
// about when its files appear.
func killMoment(rng *rand.Rand, i int, whole time.Duration) time.Duration {
	if i%4 < 2 {
		return time.Duration(rng.Int64N(int64(whole)))
	}
	return whole/2 + time.Duration(rng.Int64N(int64(whole)))*6/10
}

// runWriter runs a filter that writes a data set, and kills it after some time.
func runWriter(t *testing.T, stage, trace, set string, after time.Duration) {
	t.Helper()
	cmd := exec.Command(stage, trace, "--checkpoint", set)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() >= 0 {
		t.Fatalf("%s: %v: %s", stage, err, &stderr)
	}
}

// classify says what a killed writer left, and fails where it is neither right nor
// refused.
func classify(t *testing.T, set, want, old string) string {
	t.Helper()
	r := call(t, nil, "verdict", set, "--format", "json")
	switch {
	case r.status == 0 && r.stdout == want:
		return "new"
	case r.status == 0 && old != "" && r.stdout == old:
		return "old"
	case r.status == 2 && strings.Contains(r.stderr, "unfinished"):
		return "refused"
	case r.status == 2 && r.stdout == "" && noDataSet(set):
		return "nothing"
	}
	t.Fatalf("status %d of what a killed writer left: %s\n%s", r.status, r.stderr, r.stdout)
	return ""
}

func noDataSet(set string) bool {
	found, err := filepath.Glob(filepath.Join(set, "*"))
	return err == nil && len(found) == 0
}

// listFiles lists the files in a directory with their sizes.
func listFiles(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			fmt.Fprintf(&b, "%s %d\n", strings.TrimPrefix(path, dir), info.Size())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCheckpointRemovedMeanwhile takes a data set away while it is written, as another
// command does that writes to it: that is said, not that there is no such file.
func TestCheckpointRemovedMeanwhile(t *testing.T) {
	rows := must(t, nil, "nsys2arrow", generate(t, "--events", "40000", "--layers", "2"))
	set, stderr := filepath.Join(t.TempDir(), "set"), strings.Builder{}
	from, to := io.Pipe()
	status := make(chan int)
	go func() {
		for _, cmd := range commands {
			if cmd.Name == "isolate" {
				ended := cli.Run(cmd, []string{"--by", "allreduce", "--checkpoint", set}, from, io.Discard, &stderr)
				from.Close() // it may end before its input does
				status <- ended
			}
		}
	}()
	half := len(rows) * 3 / 4
	to.Write(rows[:half])
	for range 1000 {
		if _, err := os.Stat(set); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := os.RemoveAll(set); err != nil {
		t.Fatal(err)
	}
	to.Write(rows[half:])
	to.Close()
	if got := <-status; got != 2 || !strings.Contains(stderr.String(), "were removed while they were written") || !strings.Contains(stderr.String(), "does another command write to it?") {
		t.Errorf("status %d: %s", got, stderr.String())
	}
}
