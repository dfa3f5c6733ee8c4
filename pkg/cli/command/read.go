package command

import (
	"io"
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// readFile reads a file that a flag or an argument names, "-" for standard input. What read finds
// wrong with it is what blame makes of that; a file that cannot be opened names itself.
func readFile[T any](p *Plan, path string, read func(io.Reader) (T, error), blame func(error) error) (v T, err error) {
	in := p.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return v, err
		}
		defer f.Close()
		in = f
	}
	if v, err = read(in); err != nil {
		err = blame(err)
	}
	return v, err
}

// notThis blames a file for not being what a flag takes, and says what that is.
func notThis(name, advice string) func(error) error {
	return func(err error) error { return cli.Misuse(name+": "+err.Error(), advice) }
}

// readRows reads the rows of a result, a stream or Parquet, of whoever wrote that; "-"
// is standard input. Another file is refused: what it is, what there should be, and the advice.
func (p *Plan) readRows(path, what, advice string) (*table.Table, error) {
	is, events := source.Describe(path)
	var in *source.Input
	var err error
	switch f := source.Recognise(path); {
	case events || is != "" && f == nil || f != nil && f.Reports != "":
		return nil, cli.Misuse(path+": "+is+", not "+what, advice)
	case path == "-":
		in, err = source.OpenStdin(p.Stdin, &source.Options{})
	case f != nil && f.Name == "checkpoint":
		rows, err := checkpoint.ReadTable(path)
		return rows, source.Advised(err)
	case f != nil || cli.IsStream(path):
		in, err = source.Open([]string{path}, &source.Options{})
	default:
		if err = source.Check([]string{path}); err == nil {
			err = cli.Misuse(path+": no table, not "+what, advice)
		}
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if in.Table == nil {
		return nil, cli.Misuse(path+": a stream of events, not "+what, advice)
	}
	return in.Table, nil
}
