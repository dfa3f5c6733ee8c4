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

// keySource is the key of the footer's metadata for Options.Source.
const keySource = "hostbound.source"

// edge is how much of either end of a file goes into its identity.
const edge = 64 << 10

// Identity tells a report from what it was, without reading all of it.
type Identity struct {
	// Size is the bytes of the file, of a directory those of its files.
	Size int64 `json:"size"`
	// Time is when it was changed last, in ns since 1970.
	Time int64 `json:"time_ns"`
	// Edges is a hash of the first and the last 64 KiB: in an SQLite file the
	// first pages hold the schema and a counter of changes.
	Edges string `json:"edges"`
	// Schema is the version of the export's schema; the caller's to set.
	Schema string `json:"schema,omitempty"`
}

// Identify returns the identity of a report: a file, or a directory of files.
// A file that was changed in its middle alone, with the same length and time, has the same
// identity: that much is believed of whoever recorded it. Links are followed.
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

// PartName is the name of the part of a data set that is made of report n of a
// command line.
func PartName(n int) string { return fmt.Sprintf("report-%d", n) }

// MadeOf reports whether a data set is complete and undamaged, was made of these
// reports and of nothing else, and gives their rows as nsys2arrow does. It reads
// all of the data set to be sure, and next to nothing of the reports.
// Any doubt, an error included, is a no: then the data set is written again.
func MadeOf(dir string, reports []string) bool {
	m, err := readManifest(dir)
	if err != nil {
		return false
	}
	if left, err := leftovers(dir); err != nil || len(left) > 0 {
		return false // who writes it again takes them away
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
					return false // here they come last, out of the reports before the next one's
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

// madeOf reports whether a file is the one that the manifest says it is, and was
// made of a report with that identity, whose schema is not looked at.
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
	for i := range h.Reports { // none where the file has the rows without a rank
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
