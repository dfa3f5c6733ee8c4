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

// AddSource adds the source of functions that have none, such as those of .lprof files,
// from files below dir: the longest existing tail of a function's path. Only the lines
// between a function's first and last are kept. It returns the functions without a file.
// Those whose file changed since the profile stay without source, with a warning.
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

// dropMoved removes the source of functions that do not begin on their recorded line:
// the file changed after it ran, so its lines would describe other code.
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

// mayBegin reports whether a line may be a function's first: it has its name, or is a
// decorator.
func (f *Function) mayBegin(source string) bool {
	name := f.Name[strings.LastIndexByte(f.Name, '.')+1:]
	return strings.HasPrefix(name, "<") || strings.HasPrefix(strings.TrimSpace(source), "@") || strings.Contains(source, name)
}

// openTail opens the file with the longest existing tail of a path.
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

// addLines sets the source of the functions of one file. It inserts lines that never
// ran and so were not recorded, at most room.
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

// everyLine returns the lines with missing ones inserted between the first and the
// last, except in gaps that are too large.
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
