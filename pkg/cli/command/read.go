package command

import (
	"io"
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// readFile reads a file named by a flag or an argument, "-" for standard input. blame
// turns an error of read into one about the file; a file that cannot be opened names
// itself.
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

// notThis returns a blame for readFile: the file is not what a flag accepts; advice
// says what that is.
func notThis(name, advice string) func(error) error {
	return func(err error) error { return cli.Misuse(name+": "+err.Error(), advice) }
}

// readRows reads the rows of a result from a stream or Parquet file of any program; "-"
// is standard input. For another file the error says what it is, what was expected, and
// the advice.
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
