package source

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/nsys"
)

// nsysReports are reports of Nsight Systems, in any form.
const nsysReports = "nsys"

// sqliteHead is how an SQLite file begins.
const sqliteHead = "SQLite format 3"

var (
	nsysCapture = Format{
		Name:    "nsys capture",
		Reports: nsysReports,
		Matches: func(f *File) bool {
			ext := filepath.Ext(f.Path)
			return f.Info.Mode().IsRegular() && (ext == ".nsys-rep" || ext == ".qdrep")
		},
		Convert: exportCapture,
		Open:    openNsys,
	}
	nsysDirectory = Format{
		Name:    "nsys export (parquetdir)",
		Reports: nsysReports,
		Matches: func(f *File) bool { return f.Info.IsDir() },
		Open:    openNsys,
	}
	nsysDatabase = Format{
		Name:    "nsys export (SQLite)",
		Reports: nsysReports,
		Matches: func(f *File) bool { return bytes.HasPrefix(f.Head, []byte(sqliteHead)) },
		Again:   "'nsys export --type sqlite REPORT.nsys-rep'",
		Open:    openNsys,
	}
)

// openNsys opens exports of any form, numbering their ranks together.
func openNsys(paths []string, opt *Options) (*Input, error) {
	return opened(nsys.Open(paths, nsys.Options{
		Progress: opt.Progress, Separate: opt.Separate, Memory: opt.Memory, Host: opt.Host, Callers: opt.Callers,
		Columns: opt.Columns, Launched: opt.Launched, HostClasses: opt.HostClasses, Pause: opt.Pause,
	}))
}

// exportCapture exports a capture with the nsys program. It makes dir and returns the
// export in it.
func exportCapture(ctx context.Context, path, dir string) (string, error) {
	program, err := exec.LookPath("nsys")
	if err != nil {
		return "", refused("export it where Nsight Systems is installed: nsys export --type sqlite "+path,
			"%s: reading .nsys-rep needs nsys on PATH", path)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	base := filepath.Base(path)
	out := filepath.Join(dir, strings.TrimSuffix(base, filepath.Ext(base))+".sqlite")
	cmd := exec.CommandContext(ctx, program, "export", "--type", "sqlite", "--output", out, path)
	err = cmd.Run() // its output is not shown: it may contain the command line of the capture
	if err == nil {
		_, err = os.Stat(out)
	}
	if err != nil {
		return "", refused("an nsys older than the one that recorded it cannot read it: export it with that one or a newer one; to see what it says: nsys export --type sqlite "+path,
			"%s: %s, found on PATH, did not export it", path, versionOf(ctx, program))
	}
	return out, nil
}

// versionOf returns the name of an nsys program, with its version if it reports one.
func versionOf(ctx context.Context, program string) string {
	said, _ := exec.CommandContext(ctx, program, "--version").Output()
	return strings.TrimSpace("nsys " + version.FindString(string(said)))
}

var version = regexp.MustCompile(`\d+(\.\d+)+`)
