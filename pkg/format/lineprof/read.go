package lineprof

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"path/filepath"
)

// Error is the error of an input that cannot be read, with advice.
type Error struct {
	Name string // the input's base name, "" for standard input
	Msg  string // lower case, no full stop, no name
	Hint string // advice
}

// Error returns the message, preceded by the input's name.
func (e *Error) Error() string {
	if e.Name == "" {
		return e.Msg
	}
	return e.Name + ": " + e.Msg
}

// maxLine is how many bytes of a line are kept. Lines longer than the buffer are rare,
// and are copied.
const (
	maxLine    = 1 << 20
	maxEndless = 256 << 20
	buffer     = 64 << 10
)

const formatsHint = "give what line_profiler printed, a .lprof file, collapsed stacks or speedscope JSON; a trace is for verdict and gaps"

// Read reads a profile of any format, recognised by its content. name may be a path, of
// which the base is kept. The error is an [*Error] if the input is at fault, and r's
// own if reading failed. A profile without functions is no error: nothing was profiled.
func Read(name string, r io.Reader) (*Profile, error) {
	name = filepath.Base(filepath.ToSlash(name))
	if name == "." || name == "-" {
		name = ""
	}
	in := bufio.NewReaderSize(r, buffer)
	head, err := in.Peek(512)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if mark := []byte("\xef\xbb\xbf"); bytes.HasPrefix(head, mark) {
		head = head[len(mark):]
		in.Discard(len(mark))
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case len(head) == 0:
		return nil, &Error{Name: name, Msg: "empty input", Hint: formatsHint}
	case len(head) > 1 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5: // protocols 2 to 5
		return readPickle(name, in)
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return nil, &Error{Name: name, Msg: "text in UTF-16", Hint: "save it as UTF-8"}
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return nil, &Error{Name: name, Msg: "compressed by gzip", Hint: "give it decompressed: gzip -dc FILE | hotspots"}
	case len(head) > 1 && (head[0] == '{' || head[0] == 0xfb) && bytes.IndexByte([]byte{'(', ')', 0xa8, 0xa9}, head[1]) >= 0: // a marshalled dict with tuples as keys
		return nil, &Error{Name: name, Msg: "what cProfile writes has functions and no stacks", Hint: "profile with line_profiler, or with py-spy for stacks"}
	case len(text) > 0 && text[0] == '{':
		return readSpeedscope(name, in)
	}
	return readText(name, in)
}

var errEndless = errors.New("a line of more than 256 MiB, so no text")

// readText reads tables, or stacks if no line belongs to a table.
func readText(name string, in *bufio.Reader) (*Profile, error) {
	t := &textReader{profile: &Profile{Name: name, Format: Text}, ahead: preamble{total: -1}, run: map[identity]bool{}}
	s := &stackReader{Stacks: newStacks(name, Collapsed)}
	for {
		line, last, err := readLine(in)
		if err == errEndless {
			return nil, &Error{Name: name, Msg: err.Error(), Hint: formatsHint}
		}
		if err != nil {
			return nil, err
		}
		if line == nil {
			break
		}
		t.add(line, last)
		if s != nil && (t.found || !s.add(line)) {
			s = nil
		}
	}
	if p := t.finish(); p != nil {
		return p, nil
	}
	if s != nil {
		if p := s.finish(); p != nil {
			return p, nil
		}
	}
	return nil, &Error{Name: name, Msg: "no profile in it", Hint: formatsHint}
}

// readLine returns the next line without its end, valid until the next call, and
// whether the end was missing. It returns nil after the last line, and only the first
// maxLine bytes of a longer one. A line longer than maxEndless is errEndless: the input
// is an endless device, a file with holes, or not text.
func readLine(in *bufio.Reader) (line []byte, last bool, err error) {
	line, err = in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		for length := 0; errors.Is(err, bufio.ErrBufferFull); {
			var more []byte
			more, err = in.ReadSlice('\n')
			line = append(line, more[:min(len(more), maxLine-len(line))]...)
			if length += len(more); length > maxEndless {
				return nil, false, errEndless
			}
		}
	}
	switch {
	case err == nil:
		return bytes.TrimSuffix(line, []byte{'\n'}), false, nil
	case err == io.EOF && len(line) == 0:
		return nil, true, nil
	case err == io.EOF:
		return line, true, nil
	}
	return nil, false, err
}
