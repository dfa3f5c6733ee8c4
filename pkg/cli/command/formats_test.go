package command

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/cli"
)

// begins is what an output in a format begins with, rows of each kind aside.
var begins = map[string]string{formatArrow: "\xff\xff\xff\xff", formatHTML: "<!doctype html", formatJSONL: "{", formatJSON: "{", formatText: "# "}

// TestOutputs has every command write every format of the table, and refuse the others before
// anything is read.
func TestOutputs(t *testing.T) {
	trace := "../../../testdata/llama_tp2.sqlite"
	given := map[string][]string{
		"hotspots": {"../../hotspot/round/testdata/llama/round1_single_loop.txt"},
		"diff":     {trace, trace},
	}
	for _, cmd := range All {
		w := outputs[cmd.Name]
		args := given[cmd.Name]
		if args == nil {
			args = []string{trace}
		}
		for _, format := range []string{formatArrow, formatTable, formatCSV, formatJSON, formatJSONL, formatText, formatHTML} {
			extra := slices.Concat(args, []string{"--format", format})
			isRows := slices.Contains(w.rows, format)
			if isRows && cmd == &Gaps {
				extra = append(extra, "--report", "idle")
			}
			if !isRows && w.must && slices.Contains(w.report, format) {
				extra = append(extra, "--"+w.asked)
			}
			if !isRows && !slices.Contains(w.report, format) {
				refused(t, cmd, "--format "+format, slices.Replace(extra, 0, len(args), "absent.sqlite")...)
				continue
			}
			var stdout bytes.Buffer
			if status := cli.Run(cmd, extra, strings.NewReader(""), &stdout, io.Discard); status != 0 || !strings.HasPrefix(stdout.String(), begins[format]) || stdout.Len() == 0 {
				t.Errorf("%s --format %s: status %d, %.20q", cmd.Name, format, status, &stdout)
			}
		}
	}
}

// TestNoRowsOfReports wants rows to be refused where a report was asked for, before anything
// is read.
func TestNoRowsOfReports(t *testing.T) {
	for cmd, flag := range map[*cli.Command]string{&Whatif: "--report", &Nsys2arrow: "--doctor", &Torch2arrow: "--doctor"} {
		refused(t, cmd, flag+" writes no rows", "absent.sqlite", flag, "--format", "csv")
		refused(t, cmd, flag+" writes no rows", "absent.sqlite", flag, "-o", filepath.Join(t.TempDir(), "x.parquet"))
	}
}
