package source

import (
	"bytes"

	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

var parquetCheckpoint = Format{
	Name: "checkpoint",
	Matches: func(f *File) bool {
		return f.Info.IsDir() && checkpoint.IsDataSet(f.Path) || bytes.HasPrefix(f.Head, []byte("PAR1"))
	},
	Open: openCheckpoint,
}

// openCheckpoint opens a checkpoint. It reads little more than the chosen rows and the
// columns that are used.
func openCheckpoint(paths []string, opt *Options) (*Input, error) {
	if checkpoint.IsTable(paths[0]) {
		rows, err := checkpoint.ReadTable(paths[0])
		return &Input{Table: rows}, Advised(err)
	}
	r, err := checkpoint.Open(paths[0], checkpoint.ReadOptions{
		Selection: checkpoint.Selection{Ranks: opt.Selection.Ranks}, Columns: ^event.StackCols, // reading it takes time, if it is wanted
	})
	if err != nil {
		return nil, Advised(err)
	}
	in := &Input{Events: &sound{r}, Warner: warner(r), chosen: true, closers: []func(){func() { r.Close() }}}
	var need checkpoint.ReadOptions
	if need.Selection, err = opt.choice(r.Header()); err == nil {
		if opt.Columns != nil {
			need.Columns = opt.Columns(r.Header())
		}
		err = r.Choose(need)
	}
	if err != nil {
		in.Close()
		return nil, Advised(err)
	}
	return in, nil
}

// warner returns a source as an event.Warner, nil if it has no warnings.
func warner(src event.Source) event.Warner {
	w, _ := src.(event.Warner)
	return w
}
