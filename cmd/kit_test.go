package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestGitHubKit runs the steps of the workflow as GitHub's runner does: the first
// time without a baseline, then with the one that it kept, on a run like it and on a
// slower one.
func TestGitHubKit(t *testing.T) {
	var flow struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run, If string }
		}
	}
	readKit(t, "github.yml", &flow)
	var script strings.Builder
	for _, s := range flow.Jobs["host-overhead"].Steps {
		if s.Run != "" && !strings.HasPrefix(s.Name, "Install") {
			script.WriteString("(\n" + s.Run + "\n)\n")
		}
	}
	k := newKit(t, script.String(), "GITHUB_STEP_SUMMARY=summary.md")
	k.night()
	k.has("summary.md", "# YES: the host holds the GPUs back")
	k.has("verdict.xml", `<testsuite name="verdict" tests="3"`)
	k.has("baseline.parquet", "PAR1")
	if err := os.Remove(filepath.Join(k.dir, "summary.md")); err != nil {
		t.Fatal(err)
	}
	k.night("--seed", "3")
	k.has("summary.md", "Root cause: nothing beyond the noise")
	k.has("diff.xml", `<testsuite name="tracediff" tests="1" failures="0" errors="0">`)
	k.regresses()
}

// TestGitLabKit does the same with GitLab's job, whose lines are one script.
func TestGitLabKit(t *testing.T) {
	var flow map[string]struct{ Script []string }
	readKit(t, "gitlab.yml", &flow)
	k := newKit(t, strings.Join(flow["host-overhead"].Script, "\n"), "CI_COMMIT_BRANCH=main", "CI_DEFAULT_BRANCH=main")
	k.night()
	k.has("verdict.html", "the host holds the GPUs back")
	k.night("--seed", "3")
	k.has("diff.html", "nothing beyond the noise")
	k.regresses()
}

// readKit reads a file of scripts/ci.
func readKit(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "scripts", "ci", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

// kit is a script of continuous integration, in the folder of a project.
type kit struct {
	*testing.T
	dir, script string
	env         []string
}

func newKit(t *testing.T, script string, env ...string) *kit {
	t.Helper()
	return &kit{t, t.TempDir(), script, env}
}

// run runs the script on a trace of the simulator, with flags beyond those of all.
func (k *kit) run(flags ...string) ([]byte, error) {
	k.Helper()
	cmd := exec.Command("bash", "-eo", "pipefail", "-c", k.script)
	cmd.Dir = k.dir
	cmd.Env = append(append(os.Environ(), "RECORD=cp "+generate(k.T, append([]string{"--steps", "40", "--layers", "3"}, flags...)...)+" trace.sqlite"), k.env...)
	return cmd.CombinedOutput()
}

// night is a run that is to succeed.
func (k *kit) night(flags ...string) {
	k.Helper()
	if out, err := k.run(flags...); err != nil {
		k.Fatalf("%v\n%s", err, out)
	}
}

// regresses wants a slower run to fail, and the baseline to stay.
func (k *kit) regresses() {
	k.Helper()
	before, err := os.ReadFile(filepath.Join(k.dir, "baseline.parquet"))
	if err != nil {
		k.Fatal(err)
	}
	if out, err := k.run("--seed", "4", "--host", "_update_requests=900"); err == nil {
		k.Errorf("a regression passes\n%s", out)
	}
	k.has("diff.xml", `<failure message=`)
	k.has("baseline.parquet", string(before))
}

// has wants a file that contains a text.
func (k *kit) has(name, text string) {
	k.Helper()
	got, err := os.ReadFile(filepath.Join(k.dir, name))
	if err != nil || !bytes.Contains(got, []byte(text)) {
		k.Errorf("%s lacks %q: %v", name, text, err)
	}
}
