package spill

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestKilled ends a process while it writes a file, of which nothing may be left: of one
// without a name whatever ends it, of a hidden one where the process is told to.
func TestKilled(t *testing.T) {
	begin := map[string]func(string, string) (*File, error){"Create": CreateFile, "hidden": hidden}
	if path := os.Getenv("HOSTBOUND_TEST_WRITE"); path != "" {
		if os.Getenv("HOSTBOUND_TEST_HOW") == "folder" {
			fillFolder(path)
		}
		f, err := begin[os.Getenv("HOSTBOUND_TEST_HOW")](path, filepath.Dir(path))
		if err != nil {
			os.Exit(3)
		}
		io.WriteString(f, "half")
		os.Stdout.WriteString("writing")
		time.Sleep(time.Minute)
		return
	}
	for how := range begin {
		killed(t, how, syscall.SIGTERM)
	}
	killed(t, "folder", syscall.SIGTERM) // SIGHUP is ignored under nohup
	if f, err := unnamed(filepath.Join(t.TempDir(), "f"), t.TempDir()); err == nil && f != nil {
		f.Abort()
		killed(t, "Create", syscall.SIGKILL)
	} else {
		t.Logf("no files without names here: %v", err)
	}
}

// fillFolder writes files until one fails, which it reports unless the process was told to end.
func fillFolder(dir string) {
	os.Mkdir(dir, 0o755)
	RemoveOnSignal(dir)
	for k, end := 0, time.Now().Add(time.Minute); time.Now().Before(end); k++ {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(k%1000)), nil, 0o644); err != nil {
			Settle()
			os.Exit(3)
		}
		if k == 1000 {
			os.Stdout.WriteString("writing")
		}
	}
}

// killed has a process write a file and ends it by a signal.
func killed(t *testing.T, how string, by os.Signal) {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	c.Env = append(os.Environ(), "TMPDIR="+dir, "HOSTBOUND_TEST_HOW="+how, "HOSTBOUND_TEST_WRITE="+filepath.Join(dir, "out"))
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("writing"))); err != nil {
		t.Error(err)
	}
	if err := c.Process.Signal(by); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("a process that was told to end says that all went well")
	} else if status := c.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != by {
		t.Errorf("%s, %v: it ended with %v", how, by, err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%s, %v: %s is left", how, by, left)
	}
}

// TestCommit replaces a file in one step, keeps its permissions and owner, makes folders, and leaves
// nothing of what was given up; errors name the file that was asked for.
func TestCommit(t *testing.T) {
	for how, begin := range map[string]func(string, string) (*File, error){"Create": CreateFile, "hidden": hidden} {
		dir, given := t.TempDir(), false
		for k, path := range []string{filepath.Join(dir, "a"), filepath.Join(dir, "a"), filepath.Join(dir, "sub", "b")} {
			f, err := begin(path, dir)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(f, how[:k+1])
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
			f.Abort()
			if got, err := os.ReadFile(path); string(got) != how[:k+1] {
				t.Errorf("%s, file %d: %q, %v", how, k, got, err)
			}
			info, _ := os.Stat(path)
			if k == 1 && info.Mode() != 0o600 {
				t.Errorf("%s: permissions are %v", how, info.Mode())
			}
			if owner := info.Sys().(*syscall.Stat_t).Uid; k == 1 && given && owner != 4242 {
				t.Errorf("%s: the owner is %d", how, owner)
			}
			given = os.Chown(path, 4242, 4242) == nil // as root
			os.Chmod(path, 0o600)
		}
		f, err := begin(filepath.Join(dir, "given up"), dir)
		if err != nil {
			t.Fatal(err)
		}
		f.Abort()
		taken := filepath.Join(dir, "sub") // a folder, which no file replaces
		if f, err = begin(taken, dir); err != nil {
			t.Fatal(err)
		}
		var wrong *fs.PathError
		if err := f.Commit(); !errors.As(err, &wrong) || wrong.Path != taken {
			t.Errorf("%s: a file in place of a folder: %v", how, err)
		}
		f.Abort()
		if left, _ := os.ReadDir(dir); len(left) != 2 {
			t.Errorf("%s: %v", how, left)
		}
		if _, err := begin(filepath.Join(dir, "none", "x.html"), filepath.Join(dir, "none")); !errors.As(err, &wrong) || wrong.Path != filepath.Join(dir, "none", "x.html") {
			t.Errorf("%s: %v", how, err)
		}
	}
}
