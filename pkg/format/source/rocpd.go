package source

import (
	"bytes"

	"github.com/hostbound/hostbound/pkg/format/rocpd"
)

// rocpdDatabase is an SQLite file, like an nsys export: its tables show what it is.
var rocpdDatabase = Format{
	Name:    "AMD profiler database (rocpd)",
	Reports: "rocpd",
	Matches: func(f *File) bool { return bytes.HasPrefix(f.Head, []byte(sqliteHead)) && rocpd.Recognise(f.Path) },
	Again:   "'rocprofv3 --output-format rocpd'",
	Open: func(paths []string, opt *Options) (*Input, error) {
		return opened(rocpd.Open(paths, rocpd.Options{Progress: opt.Progress, Separate: opt.Separate, Memory: opt.Memory}))
	},
}
