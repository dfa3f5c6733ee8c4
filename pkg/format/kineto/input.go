package kineto

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// First bytes of files that are not plain UTF-8.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	utf8Mark  = []byte("\xef\xbb\xbf") // a byte order mark, which some editors and shells write
)

// inUTF16 reports whether text begins like UTF-16, with or without a byte order mark.
func inUTF16(head []byte) bool {
	return len(head) >= 2 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff ||
		(head[0] == 0) != (head[1] == 0))
}

// Recognise reports whether a file that begins with head is for this package to read or
// to refuse: JSON, compressed or not, or an attempt at it.
func Recognise(head []byte) bool {
	if bytes.HasPrefix(head, gzipMagic) {
		return true
	}
	head = bytes.TrimPrefix(head, utf8Mark)
	if inUTF16(head) {
		head = bytes.ReplaceAll(bytes.TrimLeft(head, "\xff\xfe"), []byte{0}, nil)
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	return len(text) == 0 || text[0] == '{' || text[0] == '['
}

// Advice on inputs that are not traces.
const (
	giveTrace = "give what torch.profiler's export_chrome_trace or tensorboard_trace_handler writes"
	copyAgain = "copy or compress it again; 'gzip -t FILE' checks it"
)

// open opens a document. Whether it is compressed is decided by its bytes, not by its
// name.
func open(path string) (io.Closer, io.Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	in, err := decode(bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, in, nil
}

// decode returns the text of a file without its byte order mark.
func decode(file *bufio.Reader) (io.Reader, error) {
	head, _ := file.Peek(len(gzipMagic))
	text := file
	if bytes.Equal(head, gzipMagic) {
		z, err := newGzipFile(file)
		if err != nil {
			return nil, err
		}
		text = bufio.NewReaderSize(z, 1<<10) // larger reads bypass the buffer
	}
	head, _ = text.Peek(len(utf8Mark))
	switch {
	case text != file && bytes.HasPrefix(head, gzipMagic):
		return nil, &inputError{"it is compressed twice", "decompress it once: gunzip FILE"}
	case bytes.Equal(head, utf8Mark):
		text.Discard(len(utf8Mark))
	case inUTF16(head):
		return nil, &inputError{"text in UTF-16, and JSON is UTF-8", "convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW.json"}
	}
	return text, nil
}

// inputError is an error of a file, without the file's name.
type inputError struct{ msg, advice string }

func (e *inputError) Error() string { return e.msg }

// wrong returns the error of an input, with advice.
func wrong(advice, format string, args ...any) error {
	return &inputError{fmt.Sprintf(format, args...), advice}
}

// explain adds the file's name and advice to an error.
func explain(path string, err error) error {
	var e *inputError
	var file *spill.FileError
	switch {
	case errors.As(err, &file):
		return problem(path, "does not fit into memory, and "+err.Error(), "set TMPDIR to a folder with more room, or give more memory with --memory")
	case errors.As(err, new(*os.PathError)):
		return err
	case errors.As(err, &e):
		return problem(path, e.msg, e.advice)
	}
	return problem(path, err.Error(), giveTrace)
}

// gzipFile reads the members of a gzip file one after the other. Its error is
// io.ErrUnexpectedEOF if the file ends within a member.
type gzipFile struct {
	file *bufio.Reader
	gzip *gzip.Reader
}

// newGzipFile reads the header of the first member. If the file ends within it, Read
// returns the error.
func newGzipFile(file *bufio.Reader) (*gzipFile, error) {
	z, err := gzip.NewReader(file)
	if err != nil && !isEnd(err) {
		return nil, damaged(err)
	}
	m := &gzipFile{file: file}
	if err == nil {
		z.Multistream(false)
		m.gzip = z
	}
	return m, nil
}

// isEnd reports whether an error is the end of an input, expected or not.
func isEnd(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

// damaged is the error of compressed data whose checksum or structure is wrong.
func damaged(err error) error {
	return wrong(copyAgain, "the compressed data is damaged: %v", err)
}

// Read implements io.Reader. It never returns data of two members at once.
func (m *gzipFile) Read(p []byte) (int, error) {
	for m.gzip != nil {
		n, err := m.gzip.Read(p)
		switch {
		case err != nil && !isEnd(err):
			return n, damaged(err)
		case err != io.EOF:
			return n, err
		}
		if err := m.another(); err != nil || n > 0 {
			return n, err
		}
	}
	return 0, io.ErrUnexpectedEOF
}

// another begins the next member; it returns io.EOF if there is none.
func (m *gzipFile) another() error {
	head, err := m.file.Peek(len(gzipMagic))
	switch {
	case len(head) == 0 && err == io.EOF:
		return io.EOF
	case !bytes.Equal(head, gzipMagic):
		return following(head, "the compressed data")
	}
	if err := m.gzip.Reset(m.file); err != nil {
		if isEnd(err) {
			return io.ErrUnexpectedEOF
		}
		return damaged(err)
	}
	m.gzip.Multistream(false)
	return nil
}

// following returns the error of data that follows the input and does not belong there.
func following(head []byte, what string) error {
	if len(head) > 0 && head[0] == 0 {
		return wrong("cut them off; they come from copying in whole blocks", "NUL bytes follow %s", what)
	}
	return wrong("one trace in a file; copy or write it again", "something else follows %s", what)
}
