package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/hostbound/hostbound/pkg/cli"
)

// echo is a command that writes what it was given.
var echo = &cli.Command{
	Name:        "echo",
	Summary:     "write what was given",
	Args:        "[FILE...]",
	Description: "Echo writes its flags.\n\n.It is 'only' a test\\of roff.\n\n  day   24 hours\n  week  168 hours",
	Status:      ", 7 where it was told to",
	Examples:    []string{"echo --by day | cat"},
	Flags: []cli.Flag{
		{Name: "output", Short: "o", Usage: "write to `FILE`", File: cli.Writes},
		{Name: "by", Usage: "`UNIT`", Default: "day", Values: []string{"day", "week"}},
		{Name: "again", Usage: "`WORD`, again for more", Default: []string{}},
		{Name: "n", Usage: "`COUNT`", Default: 3},
		{Name: "wait", Usage: "`TIME`", Default: time.Second, Group: "Waiting"},
		{Name: "loud", Usage: "shout", Default: false},
		{Name: "on", Usage: "`DAYS`", List: true, Values: []string{"mon", "tue", "thu"}},
		{Name: "map", Usage: "read `FILE`", File: cli.Reads},
		{Name: "odd", Usage: "`NUMBER`", Check: func(v string) error {
			if strings.HasSuffix(v, "1") {
				return nil
			}
			return cli.Misuse("--odd "+v+" is even", "give 1")
		}},
	},
	Run: func(c *cli.Call) (int, error) {
		if len(c.Files) > 0 && c.Files[0] == "fail" {
			return 0, fmt.Errorf("reading\n  %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist})
		}
		c.Cleanup(func() { fmt.Fprintln(c.Stderr, "cleaned") })
		err := c.Output(func(w io.Writer) error {
			fmt.Fprintln(w, c.String("by"), c.Strings("again"), c.Int("n"), c.Duration("wait"), c.Bool("loud"), c.IsSet("n"), c.Files)
			if c.Bool("loud") {
				return errors.New("too loud")
			}
			return nil
		})
		return 7, err
	},
}

func run(args ...string) (status int, stdout, stderr string) {
	var out, said bytes.Buffer
	status = cli.Run(echo, args, strings.NewReader(""), &out, &said)
	return status, out.String(), said.String()
}

// TestFlags gives flags before, between and after files, and what they do not
// take: that is refused before the command begins.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args           string
		status         int
		stdout, stderr string
	}{
		{"", 7, "day [] 3 1s false false []\n", "cleaned\n"},
		{"a --by week b --again x --again=y,z -- --n", 7, "week [x y,z] 3 1s false false [a b --n]\n", "cleaned\n"},
		{"--n -2 --wait 3ms --odd 21", 7, "day [] -2 3ms false true []\n", "cleaned\n"},
		{"--by year", 2, "", "echo: error: unknown --by year\necho: hint: --by takes day or week\n"},
		{"--odd 2", 2, "", "echo: error: --odd 2 is even\necho: hint: give 1\n"},
		{"--wait 5", 2, "", "echo: error: --wait 5 is not a time\necho: hint: a time has a unit: 500us, 1ms, 1.5s\n"},
		{"--n many", 2, "", "echo: error: --n many is not a whole number\necho: hint: 'echo --help' lists the flags\n"},
		{"--zz 1", 2, "", "echo: error: unknown flag: --zz\necho: hint: 'echo --help' lists the flags\n"},
		{"-by day", 2, "", "echo: error: unknown flag: -by\necho: hint: did you mean --by? 'echo --help' lists the flags\n"},
		{"-day 1", 2, "", "echo: error: unknown flag: -day\necho: hint: flags of more than a letter have two dashes; 'echo --help' lists the flags\n"},
		{"--outptu=x", 2, "", "echo: error: unknown flag: --outptu\necho: hint: did you mean --output? 'echo --help' lists the flags\n"},
		{"-o a -o a -o b", 2, "", "echo: error: --output is given twice: a and b\necho: hint: give it once; a list has commas\n"},
		{"--by", 2, "", "echo: error: flag needs an argument: --by\necho: hint: 'echo --help' lists the flags\n"},
		{"fail", 2, "", "echo: error: reading x: file does not exist\necho: hint: check the name\n"},
		{"--loud", 2, "day [] 3 1s true false []\n", "echo: error: too loud\ncleaned\n"},
	} {
		status, stdout, stderr := run(strings.Fields(c.args)...)
		if status != c.status || stdout != c.stdout || stderr != c.stderr {
			t.Errorf("%q: %d %q %q", c.args, status, stdout, stderr)
		}
	}
}

// TestOutput wants the file of --output to appear whole or not at all, and no
// input to be one.
func TestOutput(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	if status, stdout, stderr := run("-o", path); status != 7 || stdout != "" {
		t.Fatal(status, stdout, stderr)
	}
	want, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(want), "day") {
		t.Fatalf("%q, %v", want, err)
	}
	if status, _, _ := run("-o", path, "--loud"); status != 2 {
		t.Error("no error")
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file that was there is now %q, %v", got, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
	for _, args := range [][]string{{path, "-o", path}, {"--map", path, "-o", path}, {"a," + path, "-o", path}, {dir, "-o", filepath.Join(dir, "new")}} {
		if status, _, stderr := run(args...); status != 2 || !strings.Contains(stderr, "the output is") {
			t.Errorf("%q: %d %s", args, status, stderr)
		}
	}
	if status, stdout, _ := run("-o", "-"); status != 7 || stdout == "" {
		t.Errorf("- is no standard output: %d, %q", status, stdout)
	}
}

// TestManual wants every form of the manual to say the same.
func TestManual(t *testing.T) {
	_, help, _ := run("x", "-h")
	_, page, _ := run("--man")
	for _, want := range []string{"write what was given", "Echo writes its flags.", "7 where it was told to", "write to FILE", "Waiting", "print this text", "print the manual page"} {
		if !strings.Contains(help, want) {
			t.Errorf("--help lacks %q:\n%s", want, help)
		}
		if !strings.Contains(page, want) {
			t.Errorf("--man lacks %q:\n%s", want, page)
		}
	}
	if !strings.Contains(page, `\&.It is 'only' a test\eof roff.`) || !strings.Contains(page, `echo \-\-by day | cat`) {
		t.Errorf("text is not as roff wants it:\n%s", page)
	}
	if want := ".EX\n  day   24 hours\n  week  168 hours\n.EE\n"; !strings.Contains(page, want) {
		t.Errorf("no %q in %s", want, page)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if status, script, _ := run("--completion", shell); status != 0 || !strings.Contains(script, "_echo") {
			t.Errorf("%s: %d, %d bytes", shell, status, len(script))
		}
	}
	for _, c := range []struct {
		args []string
		want string
		stop int // 1 where files are not to be offered
	}{
		{[]string{"--by", ""}, "day\nweek\n", 0},
		{[]string{"a", "--by", "=", "w"}, "week\n", 0},
		{[]string{"--by", "="}, "day\nweek\n", 0},
		{[]string{"--by=w"}, "--by=week\n", 0},
		{[]string{"--by", "month"}, "", 1},
		{[]string{"--on", "mon,t"}, "mon,tue\nmon,thu\n", 0},
		{[]string{"--on=mon,t"}, "--on=mon,tue\n--on=mon,thu\n", 0},
		{[]string{"--n", ""}, "", 1},
		{[]string{"--n=3"}, "", 1},
		{[]string{"a", "--lo"}, "--loud\tshout\n", 0},
		{[]string{"--map"}, "--map\tread FILE\n", 0},
		{[]string{"--map", ""}, "", 0},
		{[]string{"--loud", ""}, "", 0},
		{[]string{"--nothing", ""}, "", 0},
		{[]string{""}, "", 0},
		{nil, "", 0},
	} {
		if status, words, said := run(append(c.args, "--generate-bash-completion")...); status != c.stop || words != c.want {
			t.Errorf("%q completes to %q, %d, %s", c.args, words, status, said)
		}
	}
}

func ExampleRun() {
	hello := &cli.Command{
		Name:  "hello",
		Flags: []cli.Flag{{Name: "to", Usage: "`WHOM`", Default: "you", Values: []string{"you", "all"}}},
		Run: func(c *cli.Call) (int, error) {
			fmt.Fprintln(c.Stdout, "hello", c.String("to"))
			return 0, nil
		},
	}
	fmt.Println(cli.Run(hello, []string{"--to", "all"}, os.Stdin, os.Stdout, os.Stdout))
	fmt.Println(cli.Run(hello, []string{"--to", "none"}, os.Stdin, os.Stdout, os.Stdout))
	// Output:
	// hello all
	// 0
	// hello: error: unknown --to none
	// hello: hint: --to takes you or all
	// 2
}

// TestErrorsHoldNoControls: what a name in an error says to a terminal is not said.
func TestErrorsHoldNoControls(t *testing.T) {
	_, _, stderr := run("--by", "\x1b[31mred\u200b\u2028\u202e\b\n")
	if i := strings.IndexFunc(stderr, func(r rune) bool { return r != '\n' && r != unicode.ReplacementChar && !unicode.IsPrint(r) }); i >= 0 || strings.Count(stderr, "\n") != 2 {
		t.Errorf("%q", stderr)
	}
}
