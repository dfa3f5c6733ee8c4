package lineprof

import (
	"bufio"
	"errors"
	"io/fs"
	"path"
	"strings"
)

// AddSource fills in the source of functions that have none, as those of .lprof files,
// from files below dir: of a function's path the longest tail that is there. It
// returns the functions that it found no file for. Of a file only the lines between a
// function's first and last are kept.
func (p *Profile) AddSource(dir fs.FS) (missing []*Function, err error) {
	byPath := map[string][]*Function{}
	var order []string
	for _, f := range p.Functions {
		if len(f.Lines) == 0 || f.hasSource() {
			continue
		}
		if byPath[f.path] == nil {
			order = append(order, f.path)
		}
		byPath[f.path] = append(byPath[f.path], f)
	}
	for _, name := range order {
		file, err := openTail(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, byPath[name]...)
			continue
		}
		if err != nil {
			return nil, err
		}
		err = addLines(file, byPath[name])
		file.Close()
		if err != nil {
			return nil, err
		}
	}
	return missing, nil
}

func (f *Function) hasSource() bool {
	for _, l := range f.Lines {
		if l.Source != "" {
			return true
		}
	}
	return false
}

// openTail opens the file that has the longest tail of a path.
func openTail(dir fs.FS, name string) (fs.File, error) {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	for i := range parts {
		tail := path.Join(parts[i:]...)
		if !fs.ValidPath(tail) {
			continue
		}
		if f, err := dir.Open(tail); err == nil {
			if s, err := f.Stat(); err == nil && s.Mode().IsRegular() {
				return f, nil
			}
			f.Close()
		}
	}
	return nil, fs.ErrNotExist
}

// addLines sets the source of the functions of one file. Lines that were not
// recorded because they never ran are put between.
func addLines(file fs.File, fns []*Function) error {
	for _, f := range fns {
		f.Lines = f.everyLine()
	}
	in := bufio.NewReaderSize(file, buffer)
	for number := 1; ; number++ {
		line, _, err := readLine(in)
		if err != nil {
			return err
		}
		if line == nil {
			return nil
		}
		for _, f := range fns {
			if at := number - f.Lines[0].Number; at >= 0 && at < len(f.Lines) {
				f.Lines[at].Source = string(tail(line, 0))
			}
		}
	}
}

// maxGap is how many lines without figures there may be ahead of one that has some.
const maxGap = 10_000

// everyLine returns the lines with none left out between the first and the last. Lines
// that are far from all others are of something else.
func (f *Function) everyLine() []Line {
	first := f.Lines[0].Number
	if f.Line > 0 && f.Line < first && first-f.Line < maxGap {
		first = f.Line
	}
	var all []Line
	for _, l := range f.Lines {
		next := first + len(all)
		if l.Number-next > maxGap || l.Number < next {
			continue
		}
		for ; next < l.Number; next++ {
			all = append(all, Line{Number: next})
		}
		all = append(all, l)
	}
	return all
}
