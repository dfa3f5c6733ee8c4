package cmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestGitHubKit runs the steps of the workflow as GitHub's runner does: the first time
// without a history, then with what it kept, on runs like it, on a slower one, and on that
// level once it is accepted.
func TestGitHubKit(t *testing.T) {
	t.Parallel()
	var flow struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run, If string }
		}
	}
	readKit(t, "github.yml", &flow)
	var script strings.Builder
	script.WriteString("failed=0\n")
	for _, s := range flow.Jobs["host-overhead"].Steps {
		if s.Run != "" && !strings.HasPrefix(s.Name, "Install") {
			if !strings.Contains(s.If, "always()") {
				script.WriteString("[ $failed = 0 ] && ")
			}
			script.WriteString("bash -eo pipefail -c '" + s.Run + "' || failed=$?\n")
		}
	}
	script.WriteString("exit $failed\n")
	k := newKit(t, script.String(), "GITHUB_STEP_SUMMARY=summary.md")
	k.night()
	k.has("summary.md", "# YES: the host holds the GPUs back")
	k.has("verdict.xml", `<testsuite name="verdict" tests="3"`)
	k.has("runs.parquet", "PAR1")
	k.nights("--seed")
	k.has("summary.md", "No regression against the last 5 runs")
	k.regresses("summary.md")
}

// TestGitLabKit does the same with GitLab's job, whose lines are one script.
func TestGitLabKit(t *testing.T) {
	t.Parallel()
	var flow map[string]struct{ Script []string }
	readKit(t, "gitlab.yml", &flow)
	k := newKit(t, strings.Join(flow["host-overhead"].Script, "\n"), "CI_COMMIT_BRANCH=main", "CI_DEFAULT_BRANCH=main")
	k.night()
	k.has("verdict.html", "the host holds the GPUs back")
	k.nights("--seed")
	k.has("verdict.html", "No regression against the last 5 runs")
	k.regresses("verdict.html")
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
	number      int // of the night
}

func newKit(t *testing.T, script string, env ...string) *kit {
	t.Helper()
	return &kit{t, t.TempDir(), script, env, 1}
}

// run runs the script on a trace of the simulator, with flags beyond those of all.
func (k *kit) run(flags ...string) ([]byte, error) {
	k.Helper()
	cmd := exec.Command("bash", "-eo", "pipefail", "-c", k.script)
	cmd.Dir = k.dir
	cmd.Env = append(append(os.Environ(), "RECORD=cp "+generate(k.T, append([]string{"--steps", "40", "--layers", "3"}, flags...)...)+" trace.sqlite", fmt.Sprintf("RUN=run-%d", k.number), fmt.Sprintf("CI_PIPELINE_ID=%d", k.number)), k.env...)
	return cmd.CombinedOutput()
}

// night is a run that is to succeed.
func (k *kit) night(flags ...string) {
	k.Helper()
	if out, err := k.run(flags...); err != nil {
		k.Fatalf("%v\n%s", err, out)
	}
}

// nights are five more runs, each another start of the same.
func (k *kit) nights(seed string) {
	k.Helper()
	for night := 2; night <= 6; night++ {
		k.number++
		k.night(seed, strconv.Itoa(night))
	}
}

// regresses wants a slower run to fail with a reason, until its level is accepted.
func (k *kit) regresses(page string) {
	k.Helper()
	k.number++
	if out, err := k.run("--seed", "7", "--host", "_update_requests=900"); err == nil {
		k.Errorf("a regression passes\n%s", out)
	}
	k.has("verdict.xml", `<failure message="Worse than the last 6 runs`)
	k.env = append(k.env, fmt.Sprintf("ACCEPT=run-%d", k.number))
	k.number++
	k.night("--seed", "8", "--host", "_update_requests=900")
	k.has(page, "No regression against the last 7 runs")
}

// has wants a file that contains a text.
func (k *kit) has(name, text string) {
	k.Helper()
	got, err := os.ReadFile(filepath.Join(k.dir, name))
	if err != nil || !bytes.Contains(got, []byte(text)) {
		k.Errorf("%s lacks %q: %v", name, text, err)
	}
}
