package command

import (
	"bytes"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/cli"
)

// TestLimit: the collector has what the rows of reports would take only where no report was
// opened, before or after whatever else is read.
func TestLimit(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	dir := t.TempDir()
	trace, saved := "../../../testdata/llama_tp2.sqlite", filepath.Join(dir, "saved.parquet")
	for _, test := range []struct {
		cmd  *cli.Command
		args []string
		rows int64
	}{
		{&Nsys2arrow, []string{trace, "-o", saved}, 128 << 20},
		{&Diff, []string{saved, trace}, 128 << 20},
		{&Diff, []string{trace, saved}, 128 << 20},
		{&Diff, []string{saved, saved}, 0},
	} {
		var stdout, stderr bytes.Buffer
		if status := cli.Run(test.cmd, test.args, strings.NewReader(""), &stdout, &stderr); status != 0 {
			t.Fatal(test.args, status, &stderr)
		}
		most := int64(512-32)<<20 - test.rows
		if test.cmd == &Diff {
			most -= 24 << 20
		}
		most = min(most, 512<<20-512<<20/5) // never all of it
		if got := debug.SetMemoryLimit(-1); got != most {
			t.Errorf("%s %v: the collector has %d MiB, want %d", test.cmd.Name, test.args, got>>20, most>>20)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"64M": 64 << 20, "512MiB": 512 << 20, "1.5G": 3 << 29, "0.0625g": 64 << 20, "2T": 2 << 40, "67108864": 64 << 20, "65536K": 64 << 20,
	} {
		if got, ok := parseSize(text); !ok || got != want {
			t.Errorf("%s is %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "M", "63M", "1e9", "-1G", "NaN", "Inf", "1.2.3G", "0x10G", "9999999T", "1P", "1 G"} {
		if got, ok := parseSize(text); ok {
			t.Errorf("%q is %d", text, got)
		}
	}
}
