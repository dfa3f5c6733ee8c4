package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/hostbound/hostbound/pkg/format/parquet"
)

// keySource is the key for Options.Source in the footer's metadata.
const keySource = "hostbound.source"

// edge is how many bytes at either end of a file go into its identity.
const edge = 64 << 10

// Identity tells whether a report has changed, without reading all of it.
type Identity struct {
	// Size is the bytes of the file, or of all files of a directory.
	Size int64 `json:"size"`
	// Time is when it was last modified, in ns since 1970.
	Time int64 `json:"time_ns"`
	// Edges is a hash of the first and last 64 KiB of each file. The first pages of an
	// SQLite file hold the schema and a change counter.
	Edges string `json:"edges"`
	// Schema is the version of the export's schema. The caller sets it.
	Schema string `json:"schema,omitempty"`
}

// Identify returns the identity of a report: a file, or a directory of files; links are
// followed. A file that changed only in its middle, keeping its length and time, keeps
// its identity: recorders are trusted not to do that.
func Identify(path string) (Identity, error) {
	var id Identity
	var edges []byte
	err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: not a regular file", file)
		}
		id.Size += info.Size()
		id.Time = max(id.Time, info.ModTime().UnixNano())
		edges, err = appendEdges(edges, file, info.Size())
		return err
	})
	id.Edges = fmt.Sprintf("%016x", parquet.Sum64(edges))
	return id, err
}

// appendEdges appends the name and both ends of a file.
func appendEdges(edges []byte, path string, size int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return edges, err
	}
	defer f.Close()
	edges = append(edges, filepath.Base(path)...)
	var b [edge]byte
	for _, at := range []int64{0, max(size-edge, 0)} {
		n, err := f.ReadAt(b[:], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return edges, err
		}
		edges = append(edges, b[:n]...)
	}
	return edges, nil
}

// PartName returns the name of the part of a data set that is made from report n of a
// command line.
func PartName(n int) string { return fmt.Sprintf("report-%d", n) }

// MadeOf reports whether a data set is complete and undamaged, was made from exactly
// these reports, and has their rows as nsys2arrow writes them. To be sure, it reads all
// of the data set, and next to nothing of the reports. Any doubt or error yields false:
// the data set is then written again.
func MadeOf(dir string, reports []string) bool {
	m, err := readManifest(dir)
	if err != nil {
		return false
	}
	if left, err := leftovers(dir); err != nil || len(left) > 0 {
		return false // writing it again removes them
	}
	found := 0
	for n, report := range reports {
		id, err := Identify(report)
		if err != nil {
			return false
		}
		before := found
		for i := range m.Files {
			if f := &m.Files[i]; path.Base(f.Path) == PartName(n)+suffix {
				if f.Rank == nil && f.Rows > 0 && n < len(reports)-1 {
					return false // rows without a rank come last here, but before the next report's rows in a stream
				}
				if !f.madeOf(filepath.Join(dir, filepath.FromSlash(f.Path)), report, id) {
					return false
				}
				found++
			}
		}
		if found == before {
			return false
		}
	}
	return found == len(m.Files)
}

// madeOf reports whether a file is the one in the manifest, and was made from a report
// with that identity. The identity's schema is ignored.
func (m *manifestFile) madeOf(file, report string, id Identity) bool {
	f, err := parquet.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	h, err := readHeader(f)
	if err != nil || !h.Whole() {
		return false
	}
	for i := range h.Reports { // none if the file has the rows without a rank
		if h.Reports[i].File != filepath.Base(report) {
			return false
		}
	}
	var source Identity
	text, _ := f.Metadata(keySource)
	if json.Unmarshal([]byte(text), &source) != nil {
		return false
	}
	source.Schema = ""
	return source == id && m.is(f) && f.Verify() == nil
}

// String returns the identity as JSON.
func (id *Identity) String() string {
	b, err := json.Marshal(id)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(b)
}
