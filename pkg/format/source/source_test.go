package source_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// inputs makes a file of each format, and some of none, in a folder.
func inputs(t *testing.T) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for to, from := range map[string]string{
		"a.sqlite": "v1/run.sqlite", "b.sqlite": "v1/run.sqlite", "export": "v1/run.sqlite",
		"raw.arrows": "v1/run.arrows", "stream": "v1/steps.arrows", "phased.parquet": "v1/phased.parquet",
	} {
		data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(to), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"c.nsys-rep": "a capture", "empty": "", "notes.txt": "some notes", "answer.json": "{\n  \"verdict\": \"NO\"\n}\n",
		"bad.arrows": "\xff\xff\xff\xff\x10\x00\x00\x00sixteen bytes ..", "cut.parquet": "PAR1, and nothing more",
		"torch.json": "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": []\n}\n", "torch.gz": "\x1f\x8b\x08",
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	amd, _, err := sim.ParseText(strings.NewReader("schema 3.25.0\nprocess 1\nkernel 1us 2us k\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := amd.WriteRocpd(at("amd.db"), sim.RocpdOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	return at
}

func TestRecognise(t *testing.T) {
	at := inputs(t)
	for name, want := range map[string]string{
		"a.sqlite": "nsys export (SQLite)", "export": "nsys export (SQLite)", "directory": "nsys export (parquetdir)", "c.nsys-rep": "nsys capture", "amd.db": "AMD profiler database (rocpd)",
		"raw.arrows": "stream", "stream": "stream", "phased.parquet": "checkpoint",
		"torch.json": "PyTorch profiler trace", "torch.gz": "PyTorch profiler trace",
		"answer.json": "", "notes.txt": "", "empty": "", "missing": "",
	} {
		got := ""
		if f := source.Recognise(at(name)); f != nil {
			got = f.Name
		}
		if got != want {
			t.Errorf("%s is taken for %q, want %q", name, got, want)
		}
	}
}

// TestStages opens rows at every stage, whole and in part.
func TestStages(t *testing.T) {
	at := inputs(t)
	for name, want := range map[string]source.Stage{
		"a.sqlite": source.Raw, "raw.arrows": source.Raw, "stream": source.Isolated, "phased.parquet": source.Phased,
	} {
		for _, s := range []checkpoint.Selection{{}, {Ranks: []int32{0}}, {Kinds: []event.Kind{event.Kernel}}, {Steps: &checkpoint.Range{From: 2, To: 4}}} {
			in, err := source.Open([]string{at(name)}, &source.Options{Context: context.Background(), Selection: s})
			if err != nil {
				t.Fatalf("%s %+v: %v", name, s, err)
			}
			if got := source.StageOf(in.Events.Header()); got != want || in.Fresh != (name == "a.sqlite") {
				t.Errorf("%s: stage %d, fresh %t", name, got, in.Fresh)
			}
			rows, others := 0, 0
			err = event.Each(in.Events, func(b *event.Batch) error {
				rows += b.Len
				for i := range b.Len {
					if s.Kinds != nil && b.Kind.Values[i] != event.Kernel {
						others++
					}
				}
				return nil
			})
			if err != nil || rows == 0 || others > 0 {
				t.Errorf("%s %+v: %d rows, %d of other kinds: %v", name, s, rows, others, err)
			}
			in.Close()
		}
	}
}

func TestRefused(t *testing.T) {
	at := inputs(t)
	for _, c := range []struct {
		files, want string
		opt         source.Options
	}{
		{files: "missing", want: "no such file"},
		{files: "empty", want: "empty input"},
		{files: "notes.txt", want: "not an SQLite database"},
		{files: "a.sqlite a.sqlite", want: "are the same file"},
		{files: "a.sqlite raw.arrows", want: "cannot read"},
		{files: "a.sqlite torch.json", want: "cannot read"},
		{files: "a.sqlite amd.db", want: "cannot read"},
		{files: "raw.arrows stream", want: "one stream or checkpoint at a time"},
		{files: "a.sqlite -", want: "standard input cannot be read together with files"},
		{files: "bad.arrows", want: "damaged"},
		{files: "cut.parquet", want: "truncated"},
		{files: "raw.arrows", want: "--separate ", opt: source.Options{Separate: true}},
		{files: "raw.arrows", want: "--python ", opt: source.Options{Python: true}},
		{files: "a.sqlite", want: "--partial ", opt: source.Options{Partial: true}},
		{files: "amd.db", want: "--partial ", opt: source.Options{Partial: true}},
		{files: "raw.arrows", want: "no such rank", opt: source.Options{Selection: checkpoint.Selection{Ranks: []int32{9}}}},
		{files: "phased.parquet", want: "no such rank", opt: source.Options{Selection: checkpoint.Selection{Ranks: []int32{9}}}},
	} {
		var paths []string
		for name := range strings.FieldsSeq(c.files) {
			if name != "-" {
				name = at(name)
			}
			paths = append(paths, name)
		}
		_, err := source.Open(paths, &c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.files, err, c.want)
			continue
		}
		var hint interface{ Hint() string }
		if !errors.As(err, &hint) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v has no hint", c.files, err)
		}
	}
}

// What is nothing to analyse is told by its first bytes, compressed or not.
func TestDescribe(t *testing.T) {
	at := inputs(t)
	dir := t.TempDir()
	zipped := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
		return b.String()
	}
	for name, text := range map[string]string{
		"report.json": "{\n  \"schema\": \"diff/3\",", "old.json": `{"verdict": "YES"`, "packed.json.gz": zipped(`{"answer": "` + strings.Repeat("x", 900)),
		"export.sqlite.gz": zipped("SQLite format 3\x00"),
		"page":             "<!DOCTYPE html>\n<html>", "tests": "<?xml version=\"1.0\"?>\n<testsuites>", "tar": strings.Repeat("a", 257) + "ustar", "zip": "PK\x03\x04",
		"profile": "Timer unit: 1e-06 s\n", "rows.csv": "scope,metric,value\n", "rows.jsonl": "{\"schema\":\"idle_rows/1\",\"scope\":\"window\"", "prose": "a, b, c\n", "other.json": `{"a": 1}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"report.json": "a report in JSON", "old.json": "a report in JSON", "packed.json.gz": "a report in JSON", "export.sqlite.gz": "a gzip file", "page": "a page", "tests": "test results in XML",
		"tar": "an archive of tar", "zip": "an archive of zip", "profile": "a profile of Python lines", "rows.csv": "rows as CSV", "rows.jsonl": "rows in JSON", "prose": "", "other.json": "", "none": "",
		at("a.sqlite"): "an nsys export (SQLite)", at("amd.db"): "an AMD profiler database (rocpd)", at("phased.parquet"): "a checkpoint of events", at("raw.arrows"): "a stream", at("torch.json"): "a trace of PyTorch's profiler", dir: "a directory",
	} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		what, events := source.Describe(path)
		if what != want || events != (strings.HasPrefix(want, "an nsys") || strings.HasPrefix(want, "an AMD") || strings.HasPrefix(want, "a checkpoint") || strings.HasPrefix(want, "a trace") || path == dir) {
			t.Errorf("%s is %q, want %q; events %t", path, what, want, events)
		}
	}
}

// TestStdin takes a stream, and no file that has to be read by its end.
func TestStdin(t *testing.T) {
	at := inputs(t)
	for name, want := range map[string]string{"stream": "", "a.sqlite": "cannot be read front to back", "phased.parquet": "cannot be read front to back", "empty": "empty input"} {
		f, err := os.Open(at(name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		in, err := source.OpenStdin(f, &source.Options{})
		switch {
		case want != "":
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			if err := event.Each(in.Events, func(*event.Batch) error { return nil }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestStage wants the stage of a stream to be the filter whose reports they are.
func TestStage(t *testing.T) {
	at := inputs(t)
	for name, want := range map[string]string{"a.sqlite": "nsys2arrow", "torch.json": "torch2arrow", "amd.db": "nsys2arrow"} {
		in, err := source.Open([]string{at(name)}, &source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if h := in.Events.Header(); h.Stage != want || !h.Whole() {
			t.Errorf("%s: stage %s", name, h.Stage)
		}
		in.Close()
	}
}

// TestCaptureNotExported wants to know which nsys did not export a capture, and why that
// may be: what the program says is not passed on.
func TestCaptureNotExported(t *testing.T) {
	const want = "nsys 2021.1.1, found on PATH, did not export it"
	for _, does := range []string{"exit 1", "exit 0"} {
		at, dir := inputs(t), t.TempDir()
		script := "#!/bin/sh\n[ \"$1\" = --version ] && echo 'NVIDIA Nsight Systems version 2021.1.1' && exit\necho secret >&2\n" + does + "\n"
		if err := os.WriteFile(filepath.Join(dir, "nsys"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		_, err := source.Open([]string{at("c.nsys-rep")}, &source.Options{Context: t.Context()})
		var advice interface{ Hint() string }
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &advice) || !strings.Contains(advice.Hint(), "older than the one that recorded it") || strings.Contains(err.Error()+advice.Hint(), "secret") {
			t.Errorf("%s: %v", does, err)
		}
	}
}
