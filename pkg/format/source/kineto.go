package source

import (
	"bytes"

	"github.com/hostbound/hostbound/pkg/format/kineto"
)

// torchTrace is a trace of PyTorch's profiler, compressed or not. Its first bytes may
// not show that, because metadata of any kind may precede the keys that do.
var torchTrace = Format{
	Name:    "PyTorch profiler trace",
	Reports: "PyTorch profiler",
	Matches: func(f *File) bool { return len(f.Head) > 0 && kineto.Recognise(f.Head) },
	Certain: func(f *File) bool {
		for _, key := range []string{"\x1f\x8b", `"schemaVersion"`, `"deviceProperties"`, `"traceEvents"`} {
			if bytes.Contains(f.Head, []byte(key)) {
				return true
			}
		}
		return false
	},
	Again: "the profiler does when it stops, which may take minutes",
	Open: func(paths []string, opt *Options) (*Input, error) {
		return opened(kineto.Open(paths, kineto.Options{
			Progress: opt.Progress, Separate: opt.Separate, Partial: opt.Partial, Python: opt.Python, Memory: opt.Memory,
		}))
	},
}
