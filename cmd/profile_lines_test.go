package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// engineOfTwo is a program whose two processes run the functions of a module.
const engineOfTwo = `
import multiprocessing, sys

def worker():
    import toy.core
    core = toy.core.Core()
    for _ in range(200):
        core.step(range(50))

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    import toy.core
    toy.core.Core().step(range(50))  # in the parent, and before a fork
    processes = [multiprocessing.Process(target=worker) for _ in range(2)]
    for p in processes:
        p.start()
    for p in processes:
        p.join()
`

const coreOfTwo = `
class Core:
    def schedule(self, requests):
        out = []
        for r in requests:
            out.append(r * 2)
        return out

    def step(self, requests):
        return self.schedule(requests)
`

// TestProfileLines profiles the lines of a program of several processes, each into a file
// of its own, however they were started. A function that is not there is said, in its place.
func TestProfileLines(t *testing.T) {
	python := "/usr/bin/python3" // Debian's, which has its package line_profiler
	if exec.Command(python, "-c", "import line_profiler").Run() != nil {
		t.Skip("no line_profiler in " + python)
	}
	script := filepath.Join(root, "scripts", "profile_lines.py")
	for _, method := range []string{"fork", "spawn", "forkserver"} {
		t.Run(method, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "toy"), 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"main.py": engineOfTwo, "toy/core.py": coreOfTwo, "toy/__init__.py": ""} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(python, script, "-o", "out/lines.txt", "-f",
				"toy.core.Core.step, toy.core.Core.schedule, toy.core.Core.gone", "--", python, "main.py", method)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "out", "lines.*.txt"))
			if len(files) != 3 {
				t.Fatalf("%d profiles, want one of each process: %q", len(files), files)
			}
			var entered float64
			for _, f := range hotspotsJSON(t, nil, append(files, "--sum")...).Functions {
				if strings.HasSuffix(f.Function, "schedule") {
					entered = f.Hits
				}
			}
			if entered != 401 {
				t.Errorf("schedule was entered %v times, want 401", entered)
			}
			text, err := os.ReadFile(files[0])
			if err != nil || !strings.Contains(string(text), "profile_lines: no function toy.core.Core.gone") {
				t.Errorf("nothing said of the function that is not there: %v\n%s", err, text)
			}
		})
	}
	for arguments, want := range map[string]string{
		"":              "no command to run",
		"-- true":       "no functions to profile",
		"-f x -- true":  "'x' is neither module.Class.method nor module::function",
		"-f a::b -- no": "no: No such file or directory",
	} {
		cmd := exec.Command(python, append([]string{script}, strings.Fields(arguments)...)...)
		if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v %s", arguments, err, out)
		}
	}
}
