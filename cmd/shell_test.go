package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// installed installs the commands as scripts/install.sh does, and returns the folder
// that holds bin and share.
func installed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := shell(root, goTools(t), "scripts/install.sh "+dir+"/bin"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// TestInstallReplacesNothing wants scripts/install.sh to leave what others have called by
// the name of a command, and then to install nothing.
func TestInstallReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "gaps"), []byte("mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := shell(root, goTools(t), "scripts/install.sh "+dir); err == nil || !strings.Contains(err.Error(), "none of hostbound's") {
		t.Errorf("%v\n%s", err, out)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v are there", files, err)
	}
}

// TestInstallForAgents installs the skill with its references, alone and beside the commands, not in
// the place of another one of its name; its links lead to what is there.
func TestInstallForAgents(t *testing.T) {
	dir := t.TempDir()
	skill := filepath.Join(dir, "skills", "hostbound")
	for range 2 { // the second replaces the first
		if out, err := shell(root, goTools(t), "scripts/install.sh --skill "+dir+"/skills"); err != nil || strings.TrimSpace(out) != skill {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	text := string(readFile(t, filepath.Join(skill, "SKILL.md")))
	if !strings.HasPrefix(text, "---\nname: hostbound\n") {
		t.Error("no skill of that name")
	}
	for _, link := range regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(text, -1) {
		readFile(t, filepath.Join(skill, link[1]))
	}
	if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--skill " + dir + "/skills " + dir + "/bin": "none of hostbound's", "": "into which folder", "--mcp --skill x": "into which folder",
		"--skill": "takes a folder", "--skil x": "unknown flag",
	} {
		if out, err := shell(root, goTools(t), "scripts/install.sh "+args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "bin", "*")); len(left) != 0 {
		t.Errorf("%v were installed", left)
	}
}

// program skips the test where a program is not to be had.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip("no " + name + " here")
	}
	return path
}

// terminal is a shell in a terminal that tests type into.
type terminal struct {
	*testing.T
	socket, dir, home string
}

// openShell starts a shell. The installed commands are on its PATH, and nobody's own
// settings are read.
func openShell(t *testing.T, dir string, start ...string) *terminal {
	t.Helper()
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		t.Fatal(err)
	}
	sh := &terminal{t, filepath.Join(t.TempDir(), "s"), dir, home}
	sh.tmux(append([]string{"-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "50"}, start...)...)
	t.Cleanup(func() {
		sh.tmux("kill-server")
		for range 100 { // what shells leave running, as fish does when it is new, writes there for a moment
			if os.RemoveAll(home) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	return sh
}

func (sh *terminal) tmux(args ...string) string {
	sh.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", sh.socket}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+sh.dir+"/bin:"+os.Getenv("PATH"), "HOME="+sh.home, "TERM=xterm", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		sh.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// shows types keys and wants a text on the screen before long.
func (sh *terminal) shows(want string, keys ...string) {
	sh.Helper()
	sh.tmux(append([]string{"send-keys"}, keys...)...)
	screen := ""
	for range 300 {
		if screen = sh.tmux("capture-pane", "-p"); strings.Contains(screen, want) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	sh.Errorf("after %q there is no %q:\n%s", keys, want, screen)
}

// reportsFit looks at reports of the installed programs in terminals of three widths: the
// answer is there, and only commands, which are to be copied, go on in the next line.
func reportsFit(sh *terminal) {
	trace, err := filepath.Abs(filepath.Join(root, "testdata", "llama_tp2.sqlite"))
	if err != nil {
		sh.Fatal(err)
	}
	for _, columns := range []int{80, 120, 200} {
		sh.tmux("resize-window", "-x", strconv.Itoa(columns), "-y", "180")
		for name, want := range map[string]string{"verdict": "YES: the host holds", "gaps": "host:_prepare_inputs ", "tracediff": "Where a step's time goes", "metrics": "gpu_idle_ratio", "isolate": "79.1"} {
			sh.shows(fmt.Sprintf("%s at %d ends with 0", name, columns), fmt.Sprintf("clear; %s %s 2>/dev/null; echo %[1]s at %[3]d ends with $?", name, trace, columns), "Enter")
			screen := sh.tmux("capture-pane", "-p", "-J") // what was wrapped is one line
			if !strings.Contains(screen, want) {
				sh.Errorf("%s at %d columns shows no %q:\n%s", name, columns, want, screen)
			}
			for line := range strings.SplitSeq(screen, "\n") {
				if n := utf8.RuneCountInString(strings.TrimRight(line, " ")); n > columns && !strings.HasPrefix(line, "    ") {
					sh.Errorf("%s at %d columns: a line of %d: %s", name, columns, n, line)
				}
			}
		}
	}
}

// TestCompletion presses the tab key in each shell, after values, flags and the name
// that diff is installed as, and looks at reports in terminals of three widths.
func TestCompletion(t *testing.T) {
	t.Parallel()
	program(t, "tmux")
	dir := installed(t)
	if err := os.WriteFile(filepath.Join(dir, "grown.sqlite"), nil, 0o644); err != nil { // which is no method
		t.Fatal(err)
	}
	t.Run("widths", func(t *testing.T) {
		t.Parallel()
		reportsFit(openShell(t, dir, "bash", "--norc", "--noprofile", "-i"))
	})
	for name, s := range map[string]struct {
		start []string
		setup string
	}{
		"bash": {[]string{"bash", "--norc", "--noprofile", "-i"}, "for f in %s/share/bash-completion/completions/*; do source $f; done"},
		"zsh":  {[]string{"zsh", "-f", "-i"}, "fpath=(%s/share/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D"},
		"fish": {[]string{"fish", "--no-config", "-i"}, "for f in %s/share/fish/vendor_completions.d/*; source $f; end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program(t, name)
			sh := openShell(t, dir, s.start...)
			sh.shows("set up", fmt.Sprintf(s.setup, dir)+"; cd "+dir+"; echo set' 'up", "Enter")
			for _, c := range [][2]string{
				{"verdict --by allr", "verdict --by allreduce"},
				{"isolate --segment-g", "isolate --segment-gap"},
				{"verdict --by gr", "verdict --by graph"},
				{"verdict gr", "verdict grown.sqlite"},
				{"verdict --trace gro", "verdict --trace grown.sqlite"},
				{"hostbound verd", "hostbound verdict"},
				{"hostbound gaps --by gr", "hostbound gaps --by graph"},
				{"isolate --kind kernel,memc", "isolate --kind kernel,memcpy"},
			} {
				sh.shows(c[1], "C-u", c[0], "Tab")
			}
			// What is in the input is not known before it is read, and no file is a rank.
			for _, typed := range []string{"verdict --rank gr", "verdict --rank=gr", "verdict --label gr", "verdict --by gro"} {
				sh.shows(typed+"xyz", "C-u", typed, "Tab", "xyz")
			}
		})
	}
}

// TestInstallCapture wants the script that records an engine beside the commands, which
// calls itself by the name that it has there.
func TestInstallCapture(t *testing.T) {
	t.Parallel()
	name := filepath.Join(installed(t), "bin", "hostbound-capture")
	out, err := exec.Command(name, "--help").Output()
	if err != nil || !strings.Contains(string(out), "\thostbound-capture [OPTIONS] -- COMMAND") || strings.Contains(string(out), "scripts/") {
		t.Errorf("%v\n%s", err, out)
	}
}
