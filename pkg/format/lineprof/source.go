package lineprof

import (
	"bufio"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// AddSource fills in the source of functions that have none, as those of .lprof files,
// from files below dir: of a function's path the longest tail that is there. It
// returns the functions that it found no file for. One that changed since is none. Of a file only the lines between a
// function's first and last are kept.
func (p *Profile) AddSource(dir fs.FS) (missing []*Function, err error) {
	byPath := map[string][]*Function{}
	var order []string
	room := maxAdded
	for _, f := range p.Functions {
		if len(f.Lines) == 0 || slices.ContainsFunc(f.Lines, func(l Line) bool { return l.Source != "" }) {
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
		err = addLines(file, byPath[name], &room)
		file.Close()
		if err != nil {
			return nil, err
		}
	}
	p.dropMoved()
	return missing, nil
}

// dropMoved leaves the source of functions out that do not begin where they did: their file changed after
// it ran, and what is told by its lines would be of others.
func (p *Profile) dropMoved() {
	moved := 0
	for _, f := range p.Functions {
		if slices.ContainsFunc(f.Lines, func(l Line) bool { return l.Number == f.Line && l.Source != "" && !f.mayBegin(l.Source) }) {
			for i := range f.Lines {
				f.Lines[i].Source = ""
			}
			moved++
		}
	}
	if moved > 0 {
		p.warn("%s left without source: something else stands where it began, so its file changed after it ran", report.Counted(moved, "function"))
	}
}

// mayBegin reports whether a line may be a function's first: it has its name, or is a decorator.
func (f *Function) mayBegin(source string) bool {
	name := f.Name[strings.LastIndexByte(f.Name, '.')+1:]
	return strings.HasPrefix(name, "<") || strings.HasPrefix(strings.TrimSpace(source), "@") || strings.Contains(source, name)
}

// openTail opens the file that has the longest tail of a path.
func openTail(dir fs.FS, name string) (fs.File, error) {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	for i := range parts {
		tail := path.Join(parts[i:]...)
		if !fs.ValidPath(tail) {
			continue
		}
		if s, err := fs.Stat(dir, tail); err != nil || !s.Mode().IsRegular() {
			continue
		}
		if f, err := dir.Open(tail); err == nil {
			return f, nil
		}
	}
	return nil, fs.ErrNotExist
}

// addLines sets the source of the functions of one file. Lines that were not
// recorded because they never ran are put between, room in number at most.
func addLines(file fs.File, fns []*Function, room *int) error {
	at := map[int][]*Line{}
	for _, f := range fns {
		f.Lines = f.everyLine(room)
		for i := range f.Lines {
			at[f.Lines[i].Number] = append(at[f.Lines[i].Number], &f.Lines[i])
		}
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
		for _, l := range at[number] {
			l.Source = string(tail(line, 0))
		}
	}
}

// everyLine returns the lines with none left out between the first and the last, but
// where gaps are too large.
func (f *Function) everyLine(room *int) []Line {
	next := f.Lines[0].Number
	if f.Line > 0 && f.Line < next && next-f.Line < maxGap {
		next = f.Line
	}
	var all []Line
	for _, l := range f.Lines {
		for ; next < l.Number && l.Number-next <= maxGap && *room > 0; next++ {
			all = append(all, Line{Number: next})
			*room--
		}
		all = append(all, l)
		next = l.Number + 1
	}
	return all
}
