package checkpoint

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// mustBeSame checks that a checkpoint that may be damaged is refused, or read
// as what it was. It tells which.
func mustBeSame(t *testing.T, path, what string, h *event.Header, rows []eventtest.Row) (refused bool) {
	t.Helper()
	for _, sel := range []Selection{{}, {Steps: &Range{1, 4}}, {Ranks: []int32{0}}} {
		got, back, err := read(path, ReadOptions{Selection: sel})
		if err != nil {
			refused = true
			continue
		}
		want := choose(h, sel, rows, path)
		if len(back) != len(want) {
			t.Fatalf("%s: %d rows instead of %d", what, len(back), len(want))
		}
		for i := range want {
			if back[i] != want[i] {
				t.Fatalf("%s: row %d is\n%+v instead of\n%+v", what, i, back[i], want[i])
			}
		}
		header := sel.header(h)
		if !reflect.DeepEqual(got.Reports, header.Reports) && len(header.Reports) > 0 || got.Stage != h.Stage || !reflect.DeepEqual(got.Isolation, h.Isolation) {
			t.Fatalf("%s: header\n%+v instead of\n%+v", what, got, header)
		}
	}
	return refused
}

// TestFlippedBytes changes single bytes of a file all over.
func TestFlippedBytes(t *testing.T) {
	h, rows := trace(5)
	path := filepath.Join(t.TempDir(), "x.parquet")
	write(t, path, h, rows, Options{GroupRows: 100})
	flipAll(t, path, path, h, rows, 2500)
}

// TestFlippedBytesOfSet does so in all files of a data set.
func TestFlippedBytesOfSet(t *testing.T) {
	h, rows := trace(7)
	dir := t.TempDir()
	write(t, dir, h, rows, Options{GroupRows: 100})
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			flipAll(t, dir, path, h, rows, 500)
		}
		return err
	})
}

// flipAll changes about n bytes of a file of the checkpoint at path, one at a
// time.
func flipAll(t *testing.T, path, file string, h *event.Header, rows []eventtest.Row, flips int) {
	t.Helper()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	if os.Getenv("HOSTBOUND_ALL") == "" {
		flips /= 20
	}
	step, refused, n := max(len(whole)/flips, 1), 0, 0
	for i := rng.IntN(step); i < len(whole); i += step {
		bad := bytes.Clone(whole)
		if n%2 == 0 {
			bad[i] ^= 1 << rng.IntN(8)
		} else {
			bad[i] ^= byte(1 + rng.IntN(255))
		}
		if err := os.WriteFile(file, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		n++
		if mustBeSame(t, path, fmt.Sprintf("%s changed at %d", filepath.Base(file), i), h, rows) {
			refused++
		}
	}
	t.Logf("%s: %d flips, %d refused", filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), n, refused)
	if err := os.WriteFile(file, whole, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCut cuts files of a data set and a file at every KiB.
func TestCut(t *testing.T) {
	h, rows := trace(5)
	path := filepath.Join(t.TempDir(), "x.parquet")
	write(t, path, h, rows, Options{GroupRows: 100})
	whole, _ := os.ReadFile(path)
	for n := 0; n < len(whole); n += 1 << 10 {
		if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := read(path, ReadOptions{}); err == nil {
			t.Fatalf("%d of %d bytes were read", n, len(whole))
		}
	}
}

// TestPipes wants pipes in place of a data set's files to be refused, and not waited for.
func TestPipes(t *testing.T) {
	h, rows := trace(5)
	for _, name := range []string{manifestName, filepath.Join("rank=0", "events.parquet")} {
		dir := t.TempDir()
		write(t, dir, h, rows, Options{})
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := read(dir, ReadOptions{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSwappedFiles puts files of other checkpoints into a data set.
func TestSwappedFiles(t *testing.T) {
	h, rows := trace(5)
	other, others := trace(6)
	dir, second := t.TempDir(), t.TempDir()
	write(t, dir, h, rows, Options{})
	write(t, second, other, others, Options{})
	file := filepath.Join("rank=0", "events.parquet")
	b, err := os.ReadFile(filepath.Join(second, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), b, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(dir, ReadOptions{}); err == nil {
		t.Error("a file of another checkpoint was read")
	}
	if err := os.Remove(filepath.Join(dir, file)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(dir, ReadOptions{}); err == nil {
		t.Error("a file is missing, and nobody minds")
	}
}
