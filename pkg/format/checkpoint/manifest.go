package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/hostbound/hostbound/pkg/format/parquet"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// manifest is the content of the file manifestName.
type manifest struct {
	Schema  string         `json:"schema"`
	Version int            `json:"version"`
	Files   []manifestFile `json:"files"` // ordered by rank, null last, then by path
}

type manifestFile struct {
	Path string `json:"path"`
	Rank *int32 `json:"rank"`
	Rows int64  `json:"rows"`
	Hash string `json:"hash"`
}

// is reports whether f is the file in the manifest.
func (m *manifestFile) is(f *parquet.File) bool { return f.Hash() == m.Hash && f.Rows() == m.Rows }

// readManifest reads the manifest of a data set.
func readManifest(dir string) (*manifest, error) {
	path := filepath.Join(dir, manifestName)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path) // a pipe would block, and a device might never end
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &event.Error{
			Msg:    dir + ": the checkpoint is unfinished: it has no " + manifestName,
			Advice: "run the command that writes it again; what is done already is kept",
		}
	}
	if err != nil {
		return nil, err
	}
	m := new(manifest)
	if err := m.parse(text); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", path, err)
	}
	return m, nil
}

// parse reads a manifest. It refuses another schema, a later version, and files that
// are not in the folder of their rank: no path may lead out of the checkpoint.
func (m *manifest) parse(text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(m); err != nil {
		return err
	}
	if m.Schema != event.SchemaName || m.Version < 1 || m.Version > event.Version || len(m.Files) == 0 {
		return fmt.Errorf("%d files of %q, version %d", len(m.Files), m.Schema, m.Version)
	}
	for _, f := range m.Files {
		if dir, _ := path.Split(f.Path); dir != partition(f.rank())+"/" {
			return fmt.Errorf("path %q", f.Path)
		}
	}
	return nil
}

// rank returns the rank of a file's rows, noRank if they have none.
func (f *manifestFile) rank() int32 {
	if f.Rank == nil {
		return noRank
	}
	return *f.Rank
}
