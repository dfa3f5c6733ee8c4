package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"github.com/hostbound/hostbound/pkg/format/parquet"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// manifestName is the file that marks a data set as complete. Engines that read hive
// partitions skip names that begin with an underscore.
const manifestName = "_hostbound.json"

// nullPartition is hive's name for a partition whose value is null.
const nullPartition = "__HIVE_DEFAULT_PARTITION__"

const suffix = ".parquet"

// IsDataSet reports whether a directory is a data set, finished or not.
func IsDataSet(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, manifestName)); err == nil {
		return true
	}
	partitions, err := filepath.Glob(filepath.Join(dir, "rank=*"))
	return err == nil && len(partitions) > 0
}

// Set is a data set that is updated part by part; a part is what one Writer writes. The
// old content stays readable until the first part is committed. From then until Commit
// the data set is unfinished, and Open refuses it. Methods may be called concurrently.
type Set struct {
	dir   string
	old   *manifest // the old content, nil if there was none or it was unfinished
	mu    sync.Mutex
	files []manifestFile // files of the new content
	begun bool           // the manifest was removed
	made  bool           // OpenSet made the folder
}

// OpenSet opens a data set for writing. It makes the directory if it does not exist.
func OpenSet(dir string) (*Set, error) {
	_, missing := os.Lstat(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := Check(dir); err != nil {
		return nil, err
	}
	s := &Set{dir: dir, made: missing != nil}
	if m, err := readManifest(dir); err == nil {
		s.old = m
	}
	return s, nil
}

// Check returns an error if no data set can be written to a directory, which need not
// exist. It changes nothing.
func Check(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		above := filepath.Dir(filepath.Clean(dir))
		for ; above != filepath.Dir(above); above = filepath.Dir(above) {
			if _, err := os.Stat(above); !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		return CheckDir(above)
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "rank=") && !strings.HasPrefix(e.Name(), ".") && e.Name() != manifestName {
			return &event.Error{
				Msg:    fmt.Sprintf("%s: holds %s, which is not part of a checkpoint", dir, e.Name()),
				Advice: "give a directory of its own; a name that ends in .parquet makes a single file",
			}
		}
	}
	return CheckDir(dir)
}

// CheckDir returns an error if no files can be made in a directory. It does not try: a
// file made for that would be left behind if the program is killed.
func CheckDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &fs.PathError{Op: "open", Path: dir, Err: unix.ENOTDIR}
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "create a file in", Path: dir, Err: err}
	}
	return nil
}

// Create starts a part of the data set, with one file per rank of the rows.
func (s *Set) Create(h *event.Header, opt Options) *Writer {
	w := newWriter(h, opt)
	w.set = s
	return w
}

// partition returns the name of a rank's directory.
func partition(rank int32) string {
	if rank == noRank {
		return "rank=" + nullPartition
	}
	return "rank=" + strconv.Itoa(int(rank))
}

// place returns the path of a rank's file.
func (s *Set) place(rank int32, name string) string {
	return filepath.Join(s.dir, partition(rank), name+suffix)
}

// begin marks the data set as unfinished.
func (s *Set) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return nil
	}
	if err := os.Remove(filepath.Join(s.dir, manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.begun = true
	return nil
}

// file returns the manifest entry of a file.
func (s *Set) file(path string, rank int32, rows int64, hash string) manifestFile {
	rel, err := filepath.Rel(s.dir, path)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	f := manifestFile{Path: filepath.ToSlash(rel), Rows: rows, Hash: hash}
	if rank != noRank {
		f.Rank = &rank
	}
	return f
}

// keep adds a file to the data set, replacing any with the same path. It may be called
// concurrently.
func (s *Set) keep(f manifestFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(slices.DeleteFunc(s.files, func(g manifestFile) bool { return g.Path == f.Path }), f)
}

// Holds reports whether the data set has, complete and undamaged, the named part: made
// from source, at stage h.Stage, with the ranks and times of h.Reports. It reads all of
// the part to be sure. A part that it finds is kept; any other must be written again.
// Rows without a rank may have no file: the total number of rows shows whether one was
// lost.
func (s *Set) Holds(h *event.Header, name string, source *Identity) bool {
	var found []manifestFile
	rows := int64(0)
	for _, rank := range append(ranksOf(h), noRank) {
		path := s.place(rank, name)
		f, err := parquet.Open(path)
		if err != nil {
			if rank == noRank && errors.Is(err, fs.ErrNotExist) {
				continue // apparently there are no rows without a rank
			}
			return false
		}
		whole := madeOf(f, partHeader(h, rank), source) && f.Verify() == nil
		f.Close()
		if !whole {
			return false
		}
		found = append(found, s.file(path, rank, f.Rows(), f.Hash()))
		rows += f.Rows()
	}
	all := int64(0)
	for kind := range event.Kinds {
		all += h.Rows(event.Kind(kind))
	}
	if len(found) == 0 || h.Whole() && rows != all {
		return false // a file was removed
	}
	for _, f := range found {
		s.keep(f)
	}
	return true
}

// ranksOf returns the ranks of all reports, in order.
func ranksOf(h *event.Header) []int32 {
	var ranks []int32
	for i := range h.Reports {
		ranks = append(ranks, h.Reports[i].Ranks...)
	}
	return ranks
}

// madeOf reports whether a file was made from source, with the ranks and offsets of the
// reports of h.
func madeOf(f *parquet.File, h *event.Header, source *Identity) bool {
	have, err := parseHeader(f)
	if err != nil || !f.Sealed() || have.Stage != h.Stage || len(have.Reports) != len(h.Reports) {
		return false
	}
	for i := range h.Reports {
		a, b := &have.Reports[i], &h.Reports[i]
		if a.File != b.File || a.Offset != b.Offset || !slices.Equal(a.Ranks, b.Ranks) {
			return false
		}
	}
	text, _ := f.Metadata(keySource)
	return text == source.String()
}

// Commit completes the data set: it consists of the parts written and those that Holds
// found. All other checkpoint files in it, and what killed writers left, are removed.
func (s *Set) Commit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.files) == 0 {
		return errors.New(s.dir + ": nothing was written")
	}
	if err := s.clean(); err != nil {
		return err
	}
	for i := range s.files { // sync the files before writing the manifest that names them
		if err := syncDir(filepath.Dir(filepath.Join(s.dir, s.files[i].Path))); err != nil {
			return err
		}
	}
	slices.SortFunc(s.files, compareFiles)
	text, err := json.MarshalIndent(manifest{Schema: event.SchemaName, Version: event.Version, Files: s.files}, "", " ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(s.dir, manifestName), append(text, '\n'), 0o644, renameio.WithTempDir(s.dir))
}

// Abandon removes the folder if OpenSet made it and it holds no files.
func (s *Set) Abandon() {
	if !s.made {
		return
	}
	ranks, _ := fs.Glob(os.DirFS(s.dir), "rank=*")
	for _, rank := range append(ranks, "") {
		os.Remove(filepath.Join(s.dir, rank)) // fails if it is not empty
	}
}

// compareFiles orders files by rank, those without one last, then by the report numbers
// in their names: report-10 follows report-9.
func compareFiles(a, b manifestFile) int {
	return cmp.Or(cmp.Compare(uint32(a.rank()), uint32(b.rank())), cmp.Compare(len(a.Path), len(b.Path)), strings.Compare(a.Path, b.Path))
}

// syncDir flushes the names in a folder to disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// leftovers returns the files of killed writers: those that did not get their final
// names.
func leftovers(dir string) ([]string, error) {
	manifests, err := filepath.Glob(filepath.Join(dir, "."+manifestName+"*"))
	if err != nil {
		return nil, err
	}
	parts, err := filepath.Glob(filepath.Join(dir, ".*"+suffix+"*"))
	if err != nil {
		return nil, err
	}
	older, err := filepath.Glob(filepath.Join(dir, "rank=*", ".*"+suffix+"*")) // before version 2
	return slices.Concat(manifests, parts, older), err
}

// clean removes the files of killed writers, partition files that no longer belong to
// the data set, and empty partitions.
func (s *Set) clean() error {
	old, err := leftovers(s.dir)
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(s.dir, "rank=*", "[^.]*"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if rel, _ := filepath.Rel(s.dir, path); !lists(s.files, rel) && s.isOurs(path, rel) {
			old = append(old, path)
		}
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
		os.Remove(filepath.Dir(path)) // fails if it is not empty, as intended
	}
	return nil
}

// lists reports whether files contain a path, relative to the data set.
func lists(files []manifestFile, rel string) bool {
	return slices.ContainsFunc(files, func(f manifestFile) bool { return f.Path == filepath.ToSlash(rel) })
}

// isOurs reports whether a file belongs to a checkpoint.
func (s *Set) isOurs(path, rel string) bool {
	if s.old != nil && lists(s.old.Files, rel) {
		return true
	}
	f, err := parquet.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	_, ok := f.Metadata(event.KeySchema)
	return ok
}
