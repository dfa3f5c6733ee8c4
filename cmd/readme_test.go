package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// block is a command block of a document. In a block marked "console" lines that
// begin with "$ " are commands and the lines up to the next one their output,
// where a line "…" stands for any lines; a block marked "sh" is all commands.
type block struct {
	line    int
	console bool
	text    string
}

var fence = regexp.MustCompile("(?ms)^```(console|sh)\n(.*?)^```$")

func blocks(text string) []block {
	var found []block
	for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
		found = append(found, block{
			line:    1 + strings.Count(text[:m[0]], "\n"),
			console: text[m[2]:m[3]] == "console",
			text:    text[m[4]:m[5]],
		})
	}
	return found
}

// TestReadme runs the command blocks of the README in a copy of the repository
// and compares what they print with what the README says they print. Blocks that
// print nothing there install and measure, for minutes: they run with HOSTBOUND_ALL.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("builds commands: left out with -short")
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "hostbound")
	copyRepository(t, dir)
	tools := goTools(t)
	found := blocks(string(text))
	if len(found) < 5 {
		t.Errorf("the README has %d command blocks only", len(found))
	}
	for _, b := range found {
		if b.console {
			b.checkConsole(t, dir, tools)
		} else if os.Getenv("HOSTBOUND_ALL") == "" {
			t.Logf("README.md:%d: not run without HOSTBOUND_ALL=1", b.line)
		} else if out, err := shell(dir, tools, b.text); err != nil {
			t.Errorf("README.md:%d: %v\n%s", b.line, err, out)
		}
	}
}

func (b *block) checkConsole(t *testing.T, dir, tools string) {
	t.Helper()
	for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
		command, want, _ := strings.Cut(part, "\n")
		out, err := shell(dir, tools, command)
		if err != nil {
			t.Errorf("README.md:%d: %s: %v", b.line, command, err)
			continue
		}
		if diff := compareOutput(strings.TrimRight(want, "\n"), strings.TrimRight(out, "\n")); diff != "" {
			t.Errorf("README.md:%d: %s: %s", b.line, command, diff)
		}
	}
}

// copyRepository copies all but the history and what was built.
func copyRepository(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == ".git" || e.Name() == "bin" {
			continue
		}
		if out, err := exec.Command("cp", "-R", filepath.Join(root, e.Name()), dir).CombinedOutput(); err != nil {
			t.Fatalf("copying the repository: %v\n%s", err, out)
		}
	}
}

// goScript stands in for the go command: "go run" and "go build" of a command that
// the tests have anyway need not build it. Everything else is left to Go.
const goScript = `#!/bin/bash
have=%q
go=%q
if [ "$1" = run ]; then
	name=${2##*/}
	if [ ! -x "$have/$name" ]; then # what "go run" runs would find the real go first
		have=$(mktemp -d)
		trap 'rm -r "$have"' EXIT
		"$go" build -o "$have/$name" "$2" || exit
	fi
	"$have/$name" "${@:3}"
	exit
fi
[ "$1 $2" = "build -o" ] || exec "$go" "$@"
out=$3
names=
for package in "${@:4}"; do
	case $package in
	-*) ;;
	./cmd/...) for main in cmd/*/main.go; do names+=" $(basename "${main%%/*}")"; done ;;
	*) names+=" ${package##*/}" ;;
	esac
done
for name in $names; do
	[ -x "$have/$name" ] || { echo "$name is no command of the tests" >&2 && exit 1; }
	target=$out
	case $out in */) mkdir -p "$out" ;; esac
	[ ! -d "$out" ] || target=${out%%/}/$name
	printf '#!/bin/bash\nexec -a "$0" "%%s" "$@"\n' "$have/$name" >"$target" # a link is called by its name
	chmod 755 "$target"
done
`

// goTools returns a folder with goScript in it.
func goTools(t *testing.T) string {
	t.Helper()
	verdict, err := exec.LookPath("verdict")
	if err != nil {
		t.Fatal(err)
	}
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf(goScript, filepath.Dir(verdict), real)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shell runs a script. The test command is left out: this is what it runs.
func shell(dir, tools, script string) (string, error) {
	script = strings.ReplaceAll(script, "go test ./...", "")
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(dir), "GOFLAGS=-buildvcs=false",
		"PATH="+tools+string(filepath.ListSeparator)+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, goEnv()...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), err
}

// goEnv asks Go where its caches are, which HOME no longer tells.
var goEnv = sync.OnceValue(func() []string {
	out, _ := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	dirs := strings.Fields(string(out))
	return []string{"GOCACHE=" + dirs[0], "GOMODCACHE=" + dirs[1]}
})

// compareOutput returns what differs between what a document says and what a
// command printed, "" where nothing does.
func compareOutput(want, got string) string {
	parts := strings.Split("\n"+want+"\n", "\n…\n")
	rest := "\n" + got + "\n"
	for i, part := range parts {
		if i < len(parts)-1 {
			part += "\n"
		}
		if i > 0 {
			part = "\n" + strings.TrimPrefix(part, "\n")
		}
		at := strings.Index(rest, part)
		if at < 0 || i == 0 && at > 0 || i == len(parts)-1 && !strings.HasSuffix(rest, part) {
			return fmt.Sprintf("it does not print\n%s\nbut\n%s", part, rest)
		}
		rest = rest[at+len(part)-1:]
	}
	return ""
}

func TestCompareOutput(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"a\nb", "a\nb", true},
		{"a\nb", "a\nb\nc", false},
		{"a\nb", "a", false},
		{"a\n…\nd", "a\nb\nc\nd", true},
		{"a\n…\nd", "a\nb\nc", false},
		{"b\n…\nd", "a\nb\nd", false},
		{"…\nd", "a\nd", true},
		{"a\n…", "a\nb\nc", true},
		{"", "a", false},
	} {
		if same := compareOutput(c.want, c.got) == ""; same != c.same {
			t.Errorf("%q against %q: same is %v", c.want, c.got, same)
		}
	}
}
