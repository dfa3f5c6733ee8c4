package cmd

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// sameConverted wants the report that nsys recorded, which it converts itself, to have the
// rows of its export.
func sameConverted(t *testing.T, nsys, report, export string) {
	t.Helper()
	rows := func(path string) string {
		c := exec.Command("timeout", "60", "nsys2arrow", "--format", "csv", path)
		c.Env = append(os.Environ(), "PATH="+filepath.Dir(nsys)+":"+os.Getenv("PATH"))
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", path, err, err.(*exec.ExitError).Stderr)
		}
		return string(out)
	}
	if converted, want := rows(report), rows(export); converted != want {
		t.Errorf("%d bytes of rows of the report, %d of its export", len(converted), len(want))
	}
}

// readFlames wants the flame graphs of an export to be read by others, and to add up to
// its idle time in ns.
func readFlames(t *testing.T, export string) {
	t.Helper()
	var report struct {
		Idle struct {
			TotalUs float64 `json:"total_us"`
		}
	}
	out, err := exec.Command("gaps", "--by", "none", "--format", "json", export).Output()
	if err := cmp.Or(err, json.Unmarshal(out, &report)); err != nil {
		t.Fatal(err)
	}
	idleNs := int64(math.Round(report.Idle.TotalUs * 1e3))
	base := filepath.Join(t.TempDir(), "idle")
	for _, extension := range []string{".folded", ".pb.gz", ".speedscope.json"} {
		if out, err := exec.Command("gaps", "--by", "none", "--flame", base+extension, export).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	folded, err := os.ReadFile(base + ".folded")
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for line := range strings.Lines(string(folded)) {
		ns, err := strconv.ParseInt(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += ns
	}
	if sum != idleNs {
		t.Errorf("collapsed stacks of %d ns, idle are %d", sum, idleNs)
	}
	readPprof(t, base+".pb.gz", idleNs)
	readSpeedscope(t, base+".speedscope.json", idleNs)
}

// readPprof reads a profile by the library and by the Go tool.
func readPprof(t *testing.T, path string, idleNs int64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	evidence := map[string]bool{}
	for _, s := range p.Sample {
		sum += s.Value[1]
		evidence[s.Label["evidence"][0]] = true
	}
	if sum != idleNs {
		t.Errorf("a profile of %d ns, idle are %d", sum, idleNs)
	}
	if len(evidence) < 2 {
		t.Errorf("evidence is %v only: stacks of samples and calls were recorded", evidence)
	}
	out, err := exec.Command("go", "tool", "pprof", "-raw", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "gpu_idle/nanoseconds[dflt]") {
		t.Errorf("go tool pprof reads\n%.500s", out)
	}
}

// checkSpeedscope checks a file against the schema that speedscope comes with.
const checkSpeedscope = `
const fs = require('fs'), Ajv = require('ajv')
const schema = JSON.parse(fs.readFileSync('node_modules/speedscope/dist/release/file-format-schema.json'))
const valid = new Ajv({strict: false}).compile(schema)
const file = JSON.parse(fs.readFileSync(process.argv[1]))
if (!valid(file)) { console.error(valid.errors); process.exit(1) }
`

// readSpeedscope checks a file against the schema of speedscope's importer, where npm can
// get it, and adds up its weights.
func readSpeedscope(t *testing.T, path string, idleNs int64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Profiles []struct{ Weights []int64 }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, w := range file.Profiles[0].Weights {
		sum += w
	}
	if sum != idleNs {
		t.Errorf("speedscope's file has %d ns, idle are %d", sum, idleNs)
	}
	dir := t.TempDir()
	install := exec.Command("timeout", "100", "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "speedscope@1", "ajv@8")
	if out, err := install.CombinedOutput(); err != nil {
		t.Logf("speedscope's schema is not to be had, its file was not compared with it: %v\n%s", err, out)
		return
	}
	check := exec.Command("node", "-e", checkSpeedscope, path)
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("speedscope's schema refuses the file: %v\n%s", err, out)
	}
}
