package spill

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLink writes to what links name, there or not, and keeps the links.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, "sub"), 0o755)
	for link, to := range map[string]string{"a": "sub/b", "sub/b": "../c", "d": filepath.Join(dir, "a")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	for _, text := range []string{"new", "replaced"} {
		f, err := CreateFile(filepath.Join(dir, "d"), "")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, text)
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "d", "sub/b"} {
			info, err := os.Lstat(filepath.Join(dir, name))
			got, _ := os.ReadFile(filepath.Join(dir, name))
			if err != nil || info.Mode()&os.ModeSymlink == 0 || string(got) != text {
				t.Errorf("%s: %v, %v, %q", name, info, err, got)
			}
		}
	}
}

// TestLongName replaces a file whose name is as long as a name can be.
func TestLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("a", 255))
	for _, text := range []string{"new", "replaced"} {
		f, err := unnamed(path, filepath.Dir(path))
		if f == nil {
			t.Skip("no files without names here: ", err)
		}
		io.WriteString(f, text)
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// TestDescriptor tells the names of open files from others.
func TestDescriptor(t *testing.T) {
	dir := t.TempDir()
	os.Symlink("/dev/stdout", filepath.Join(dir, "out"))
	open, err := os.Create(filepath.Join(dir, "7"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if _, err := os.Lstat("/dev/stdout"); err != nil {
		t.Skip("no names of open files here: ", err)
	}
	for path, want := range map[string]int{
		"/dev/stdout": 1, "/dev/stderr": 2, "/dev/fd/1": 1, filepath.Join(dir, "out"): 1, filepath.Join(dir, "7"): -1,
		filepath.Join(dir, "none"): -1, fmt.Sprintf("/dev/fd/%d", open.Fd()): int(open.Fd()),
	} {
		if got := Descriptor(path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}
