package source

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"regexp"
	"sync"

	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// stranger is a kind of file with nothing to analyse that a user may give by mistake.
type stranger struct {
	what, advice string
	head         *regexp.Regexp // of the first bytes
}

// strangers are all such kinds. They are compiled on first use: most commands never
// need them.
var strangers = sync.OnceValue(func() []stranger {
	return []stranger{
		{"a report in JSON", "give the trace it was made from; hotspots --evidence takes reports", regexp.MustCompile(`^\s*\{\s*("schema":\s*"(verdict|diff|gaps|hotspots|whatif|doctor|types|outliers|brief)/|"(answer|verdict|profiles)":|"idle":\s*\{\s*"total_us":)`)},
		{"the table of contents of a checkpoint", "give the folder that it is in", regexp.MustCompile(`^\s*\{\s*"schema":\s*"events",\s*"version":\s*\d+,\s*"files":`)},
		{"a report as text", ofTrace, regexp.MustCompile(`^# [^\n]+\n\n`)},
		{"a page", ofTrace, regexp.MustCompile(`(?i)^\s*<(!doctype html|html)`)},
		{"test results in XML", ofTrace, regexp.MustCompile(`^\s*(<\?xml[^>]*>\s*)?<testsuites?[\s>]`)},
		{"an archive of tar", unpack, regexp.MustCompile(`(?s)^.{257}ustar`)},
		{"an archive of zip", unpack, regexp.MustCompile(`^PK\x03\x04`)},
		{"a profile of Python lines", "hotspots reads it", regexp.MustCompile(`^(Wrote profile results|Timer unit: |\s*Total time: )`)},
		{"rows in JSON", keepArrow, regexp.MustCompile(`^\{"schema":"\w+/\d+",`)},
		{"rows as CSV", keepArrow, regexp.MustCompile(`^\w+(,\w+){2,}\n`)},
	}
})

// Advice that several kinds share.
const (
	ofTrace   = "give the trace it was made from"
	keepArrow = "a filter that writes with -o FILE.arrows keeps what the next one reads"
	unpack    = "unpack it, and give the traces in it, all ranks of a run at once"
)

// stranger says what a file is and what to do, if it is nothing to analyse, compressed
// or not, or a compressed file that is read uncompressed only; what is "" for all
// others.
func (f *File) stranger() (what, advice string) {
	file := *f
	if in, err := gzip.NewReader(bytes.NewReader(f.Head)); err == nil {
		file.Head, _ = io.ReadAll(io.LimitReader(in, headBytes)) // as far as it can be decompressed
		if format := match(&file); format != nil && format != &torchTrace {
			return "a gzip file", fmt.Sprintf("decompress the %s in it: gunzip %s", format.Name, f.Path)
		}
	}
	for _, s := range strangers() {
		if s.head.Match(file.Head) {
			return s.what, s.advice
		}
	}
	return "", ""
}

// Describe says what a file is, for a caller that expected another kind, and whether it
// has events. what is "" if that is unknown.
func Describe(path string) (what string, events bool) {
	f, err := inspect(path)
	if err != nil || !f.Info.IsDir() && len(f.Head) == 0 {
		return "", false
	}
	if what, _ = f.stranger(); what != "" {
		return what, false
	}
	switch format := match(f); {
	case format == &nsysDirectory:
		return "a directory", true
	case format == &torchTrace && !format.Certain(f):
		return "", false
	case format == &parquetCheckpoint && !f.Info.IsDir():
		if schema, _ := checkpoint.SchemaOf(path); schema != event.SchemaName {
			return "a table in Parquet", false
		}
		return "a checkpoint of events", true
	case format == &parquetCheckpoint:
		return "a checkpoint of events", true
	case format == &arrowStream: // of events, or of rows of a result
		return "a stream", false
	case format == &torchTrace:
		return "a trace of PyTorch's profiler", true
	case format != nil:
		return "an " + format.Name, true
	}
	return "", false
}
