package cli_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hostbound/hostbound/pkg/cli"
)

// TestKilled ends a process while it writes a file, of which nothing may be left.
func TestKilled(t *testing.T) {
	if path := os.Getenv("HOSTBOUND_TEST_WRITE"); path != "" {
		cli.WriteFile(path, func(w io.Writer) error {
			io.WriteString(w, "half")
			os.Stdout.WriteString("writing")
			time.Sleep(time.Minute)
			return nil
		})
		return
	}
	dir := t.TempDir()
	c := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	c.Env = append(os.Environ(), "TMPDIR="+dir, "HOSTBOUND_TEST_WRITE="+filepath.Join(dir, "out"))
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
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("a process that was told to end says that all went well")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("%s is left", left)
	}
}
