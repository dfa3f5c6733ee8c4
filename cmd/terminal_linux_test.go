package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/hostbound/hostbound/pkg/cli"
)

// openTerminal opens a terminal of so many columns: what is written to tty can be read
// from screen.
func openTerminal(t *testing.T, columns uint16) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return screen, tty
}

// onTerminal runs a command whose output is a terminal, and returns what appears there.
func onTerminal(t *testing.T, columns uint16, name string, args ...string) string {
	t.Helper()
	screen, tty := openTerminal(t, columns)
	defer screen.Close()
	shown := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(screen) // ends with an error where nobody has the terminal open any more
		shown <- all
	}()
	for _, cmd := range commands {
		if cmd.Name == name {
			var stderr bytes.Buffer
			if status := cli.Run(cmd, args, strings.NewReader(""), tty, &stderr); status != 0 {
				t.Errorf("%s: status %d: %s", name, status, stderr.String())
			}
		}
	}
	tty.Close()
	return strings.ReplaceAll(string(<-shown), "\r\n", "\n")
}

// On a terminal a report fits, begins with the answer, and has colours only where they
// are wanted; into a pipe the same command writes Markdown.
func TestReportsOnTerminals(t *testing.T) {
	trace := filepath.Join(root, "testdata", "llama_tp2.sqlite")
	slow := generate(t, "--steps", "40", "--layers", "3", "--seed", "3", "--host", "_update_requests=900")
	base := generate(t, "--steps", "40", "--layers", "3")
	t.Setenv("TERM", "xterm")
	for _, one := range []struct {
		name   string
		args   []string
		answer string
	}{
		{"verdict", []string{trace}, "YES: the host holds the GPUs back"},
		{"gaps", []string{trace}, "Main cause, 40.3 % of the idle time: host:_prepare_inputs"},
		{"diff", []string{base, slow}, "Root cause: inter-step host overhead: host time in _update_requests"},
	} {
		t.Setenv("NO_COLOR", "1")
		for _, columns := range []uint16{80, 120, 200} {
			page := onTerminal(t, columns, one.name, one.args...)
			lines := strings.Split(page, "\n")
			for _, line := range lines {
				if n := utf8.RuneCountInString(line); n > int(columns) && !strings.HasPrefix(line, "    ") { // what is to be copied stays whole
					t.Errorf("%s at %d columns: a line of %d: %s", one.name, columns, n, line)
				}
			}
			if first := strings.Join(strings.Fields(strings.Join(lines[:min(len(lines), 24)], " ")), " "); !strings.Contains(first, one.answer) {
				t.Errorf("%s at %d columns does not begin with %q but\n%s", one.name, columns, one.answer, first)
			}
			if strings.ContainsAny(page, "\x1b`") || strings.Contains(page, "\n| ") {
				t.Errorf("%s at %d columns: escapes or Markdown in\n%q", one.name, columns, page)
			}
		}
		t.Setenv("NO_COLOR", "")
		if page := onTerminal(t, 80, one.name, one.args...); !strings.Contains(page, "\x1b[1m") {
			t.Errorf("%s has no colours:\n%s", one.name, page)
		}
		for _, kind := range []string{"", "dumb"} { // of which nobody knows that they have any
			t.Setenv("TERM", kind)
			if page := onTerminal(t, 80, one.name, one.args...); strings.Contains(page, "\x1b") {
				t.Errorf("%s has colours with TERM=%s:\n%s", one.name, kind, page)
			}
		}
		t.Setenv("TERM", "xterm")
		if page := string(must(t, nil, one.name, one.args...)); !strings.HasPrefix(page, "# ") || strings.Contains(page, "\x1b") {
			t.Errorf("%s into a pipe is not Markdown:\n%s", one.name, page)
		}
	}
}

// What a command says of itself fits, but for what is to be copied, and is not cut.
func TestHelpOnTerminals(t *testing.T) {
	for _, cmd := range commands {
		wide := letters(string(must(t, nil, cmd.Name, "--help")))
		for _, columns := range []uint16{80, 120} {
			page, _, _ := strings.Cut(onTerminal(t, columns, cmd.Name, "--help"), "\nExamples:\n")
			for line := range strings.Lines(page) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > int(columns) {
					t.Errorf("%s --help at %d columns: a line of %d: %s", cmd.Name, columns, n, line)
				}
			}
			if !strings.HasPrefix(wide, letters(page)) {
				t.Errorf("%s --help at %d columns says something else:\n%s", cmd.Name, columns, page)
			}
		}
	}
}

// letters is a text without spaces and punctuation.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// A command that nothing is given to and that is called by hand says so, and does not wait.
func TestNoInputOnTerminals(t *testing.T) {
	for _, cmd := range commands {
		if cmd.Name == "gentrace" { // it reads nothing
			continue
		}
		screen, tty := openTerminal(t, 80)
		ended := make(chan string, 1)
		go func() {
			var stderr bytes.Buffer
			status := cli.Run(cmd, nil, tty, io.Discard, &stderr)
			ended <- fmt.Sprint(status, " ", stderr.String())
		}()
		select {
		case said := <-ended:
			if !strings.HasPrefix(said, "2 "+cmd.Name+": error: no input\n"+cmd.Name+": hint: ") {
				t.Errorf("%s: %s", cmd.Name, said)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s waits for a terminal", cmd.Name)
		}
		screen.Close()
		tty.Close()
	}
}

// On a terminal events are summed up: nobody reads them one by one.
func TestEventsOnTerminals(t *testing.T) {
	trace := filepath.Join(root, "testdata", "llama_tp2.sqlite")
	t.Setenv("NO_COLOR", "1")
	for name, want := range map[string]string{
		"nsys2arrow": "kernel 7616", "isolate": "0 5117 32 79.1", "phase": "0 5117 32 4 28 79.1",
	} {
		page := onTerminal(t, 80, name, trace)
		if short := strings.Join(strings.Fields(page), " "); !strings.Contains(short, want) || !strings.Contains(short, "--format csv") || strings.Count(page, "\n") > 30 {
			t.Errorf("%s: no %q in\n%s", name, want, page)
		}
	}
	if page := onTerminal(t, 80, "isolate", trace, "--format", "csv"); !strings.Contains(page, "\nstep,") {
		t.Errorf("--format csv has no rows:\n%.200s", page)
	}
	for _, columns := range []uint16{80, 120, 200} { // result rows fit, too
		page := onTerminal(t, columns, "metrics", trace)
		if strings.Contains(page, "…") || !strings.Contains(page, "host_prep_idle_attribution") {
			t.Errorf("metrics at %d columns: names are cut before columns go:\n%s", columns, page)
		}
		for line := range strings.SplitSeq(page, "\n") {
			if n := utf8.RuneCountInString(line); n > int(columns) || strings.Count(page, "gpu_idle_ratio") != 3 {
				t.Errorf("metrics at %d columns: a line of %d: %s", columns, n, line)
			}
		}
	}
}

// A report that is longer than the terminal ends with its answer, in a line.
func TestTerminalEndsWithAnswer(t *testing.T) {
	trace := filepath.Join(root, "testdata", "llama_tp2.sqlite")
	for command, want := range map[string]string{
		"verdict": "YES: the host holds the GPUs back", "gaps": "Idle 68.8 %; begin with PyTorchModelEngine._prepare_inputs",
	} {
		t.Setenv("NO_COLOR", "1")
		shown := strings.TrimRight(strings.ReplaceAll(onTerminal(t, 80, command, trace), "\r", ""), "\n")
		if last := shown[strings.LastIndex(shown, "\n")+1:]; strings.Count(shown, "\n") < 50 || last != want {
			t.Errorf("%s has %d lines, the last is %q, want %q", command, strings.Count(shown, "\n"), last, want)
		}
	}
}
