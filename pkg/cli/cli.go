// Package cli is how every command behaves, whatever it does: its manual and flags,
// what it refuses before it begins, how it writes its output, and how it ends. It knows
// nothing about events and analyses; see package command for those.
//
// # Manners
//
// A command is a Command: a manual as data and a body. The usage text (--help, -h), the
// man page (--man) and the completion of bash, zsh and fish (--completion) are made
// from the manual. Flags may precede, follow or separate the files; "--" ends them.
//
// What can be refused before anything is read is refused then: invalid flag values, and
// an output that is an input.
//
// Output goes to standard output, or whole or not at all to the file of --output. That
// file may be the input of an earlier filter in the pipe, since a filter cannot tell
// who is at the other end: it is replaced once all of it was read. If standard output
// was closed when the program began, Go's runtime has opened /dev/null in its place,
// and nothing distinguishes the two.
//
// An error is one line on standard error, "NAME: error: …", followed by "NAME: hint: …"
// if something can be done about it. SIGPIPE is left to the runtime: a pipe whose
// reader goes away ends quietly.
//
// Exit status: 0 done, 2 bad usage or input; a command may have others.
//
// # Why not the library's own help and completion
//
// urfave/cli parses flags. Its help sorts headings by name, lists flags without
// breaking lines, and has no place for exit status and examples. Its manual page is in
// section 8, has "command [COMMAND OPTIONS]" as usage, lacks the values of flags, and
// turns a table in the description into a paragraph. Its scripts complete no flag
// values, and the one for bash evaluates what was typed.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/spill"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Command is a command: its manual and its body.
type Command struct {
	// Name is what the command is called.
	Name string
	// Installed is the name that it is installed under if Name belongs to another
	// program, else "".
	Installed string
	// Summary is one sentence that begins in lower case, without a full stop.
	Summary string
	// Args is the arguments in the usage line, such as "[FILE...]".
	Args string
	// Description is paragraphs of plain text, separated by empty lines.
	Description string
	// Status says what exit statuses other than 0 and 2 mean, as the rest of a
	// sentence: "; with --exit-code 0 for NO, 1 for YES". "" if there are none.
	Status string
	// Examples are realistic pipelines, one per line.
	Examples []string
	// Flags are the command's own flags, in manual order.
	Flags []Flag
	// Foreign are flags of other programs that users may try, without dashes, each with
	// advice on what does the same here.
	Foreign map[string]string
	// Run does the work and returns the exit status, StatusTrouble if the error is not
	// nil.
	Run func(*Call) (int, error)
}

// Call is one call of a command. Its methods are for the goroutine that calls Run;
// other goroutines may write to Stderr.
type Call struct {
	// Name is the command's name, or its installed name if it was called by that.
	Name string
	// Context is the context of the programs that the call starts.
	Context context.Context
	Stdin   io.Reader // read if no file is named, or "-" is
	Stdout  io.Writer // the output, unless -o names a file
	Stderr  io.Writer
	// Files are the arguments that are not flags.
	Files []string
	Flags

	cleanup []func()
	said    map[string]bool
	held    []string // warnings to be written at the end
}

// UsageError is an invalid command line, or input that does not fit it.
type UsageError struct {
	// Msg says in one line what is wrong; Advice says what to do instead.
	Msg, Advice string
}

// Error returns Msg.
func (e *UsageError) Error() string { return e.Msg }

// Hint returns Advice.
func (e *UsageError) Hint() string { return e.Advice }

// Misuse returns a UsageError.
func Misuse(msg, advice string) error { return &UsageError{msg, advice} }

// StatusTrouble is the exit status for bad usage and bad input.
const StatusTrouble = 2

// statusPipe is a shell's exit status for a process that SIGPIPE ended.
const statusPipe = 128 + 13

// memoryLimit, in bytes, is where the garbage collector works harder, so that a process
// stays below half a GiB.
const memoryLimit = 400 << 20

// The library's help would not report a failure to write it.
func init() { cli.HelpFlag = nil }

// ballast is heap that is never touched, so the system assigns no pages to it. The
// garbage collector lets a heap double; starting from next to nothing, that is a dozen
// collections, 4 % of the CPU time of reading five million events.
var ballast []byte

// limitMemory allocates the ballast and sets the limit, unless the environment sets
// one.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		ballast = make([]byte, 32<<20)
		LimitMemory(memoryLimit)
	}
}

// LimitMemory sets how many bytes the garbage collector allows the process, beside the
// ballast.
func LimitMemory(size int64) { debug.SetMemoryLimit(size + int64(len(ballast))) }

// Upstream is the error that the filter before this one in a pipe failed and has said
// why. It is reported as one line without a hint, or not at all if Quiet.
type Upstream struct {
	Err   error // as that filter reported it
	Quiet bool  // a later filter in the pipe will notice, too
}

// Error returns the text of Err.
func (e *Upstream) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Upstream) Unwrap() error { return e.Err }

// FromPipe reports whether standard input is a pipe.
func (c *Call) FromPipe() bool { return isPipe(c.Stdin) }

// ToPipe reports whether the output goes to standard output and that is a pipe.
func (c *Call) ToPipe() bool { return c.OutputPath() == "" && isPipe(c.Stdout) }

func isPipe(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// Main runs a command as the process and returns its exit status.
func Main(cmd *Command) int {
	limitMemory()
	return run(cmd, filepath.Base(os.Args[0]), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// Run runs a command with the given arguments and returns its exit status. It may be
// called concurrently.
func Run(cmd *Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(cmd, cmd.Name, args, stdin, stdout, stderr)
}

// run runs a command under the name that it was called by.
func run(cmd *Command, name string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &Call{Flags: Flags{cmd: cmd}, Name: cmd.Name, Context: context.Background(), Stdin: stdin, Stdout: stdout, Stderr: stderr}
	if name == cmd.Installed {
		c.Name = name
	}
	defer c.end()
	status := 0
	app, typed := c.parser(cmd), args
	app.BashComplete = func(*cli.Context) { status = complete(cmd, typed, stdout) }
	app.Action = func(flags *cli.Context) (err error) {
		c.values, c.Files = flags, flags.Args().Slice()
		status, err = c.answer(cmd, name)
		return err
	}
	args, err := arrange(cmd, c.Name, args)
	if err == nil {
		err = app.Run(append([]string{cmd.Name}, args...))
	}
	for _, w := range report.OneForAllRanks(c.held) {
		c.write(Warning + w)
	}
	c.held = nil
	switch {
	case errors.Is(err, syscall.EPIPE): // a pipe whose reader has enough, such as standard output
		return statusPipe
	case err != nil:
		c.complain(err)
		return StatusTrouble
	}
	return status
}

// parser returns the parser of a command's command line.
func (c *Call) parser(cmd *Command) *cli.App {
	app := &cli.App{
		Name:                      cmd.Name,
		HideHelp:                  true,
		HideVersion:               true,
		DisableSliceFlagSeparator: true,
		EnableBashCompletion:      true,
		Reader:                    c.Stdin,
		Writer:                    c.Stdout,
		ErrWriter:                 c.Stderr,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              func(_ *cli.Context, err error, _ bool) error { return valueError(cmd, c.Name, err) },
	}
	for _, f := range cmd.allFlags() {
		app.Flags = append(app.Flags, f.declare())
	}
	return app
}

// answer handles flags about the command itself, or runs its body.
func (c *Call) answer(cmd *Command, name string) (int, error) {
	switch shell := c.String(completionFlag); {
	case c.Bool(helpFlag):
		columns, _, _ := c.Screen()
		_, err := io.WriteString(c.Stdout, help(cmd, name, columns))
		return 0, err
	case shell != "":
		return 0, writeCompletion(name, shell, c.Stdout)
	case c.Bool(manFlag):
		_, err := io.WriteString(c.Stdout, manPage(cmd, name))
		return 0, err
	case c.Bool(versionFlag):
		_, err := fmt.Fprintln(c.Stdout, name, "version", Version())
		return 0, err
	}
	if err := c.check(cmd); err != nil {
		return 0, err
	}
	return cmd.Run(c)
}

// Cleanup registers f to run when the command has ended, in reverse order.
func (c *Call) Cleanup(f func()) { c.cleanup = append(c.cleanup, f) }

func (c *Call) end() {
	for k := len(c.cleanup) - 1; k >= 0; k-- {
		c.cleanup[k]()
	}
}

// Warning is the prefix of remarks that are warnings.
const Warning = "warning: "

// Log writes a one-line remark to standard error, only once however often it is made:
// reading files again, or both sides of a comparison, may cause the same one. Warnings
// are written when the command ends, those of all ranks as one.
func (c *Call) Log(text string) {
	if c.said[text] {
		return
	}
	if c.said == nil {
		c.said = map[string]bool{}
	}
	c.said[text] = true
	if w, ok := strings.CutPrefix(text, Warning); ok {
		c.held = append(c.held, w)
		return
	}
	c.write(text)
}

// Told drops pending warnings that the command's output already contains, with or without
// what they are about before a colon.
func (c *Call) Told(warnings []string) {
	c.held = slices.DeleteFunc(report.OneForAllRanks(c.held), func(w string) bool {
		return slices.ContainsFunc(warnings, func(told string) bool {
			return w == told || strings.HasSuffix(w, ": "+told) || strings.HasSuffix(told, ": "+w)
		})
	})
}

// write writes a remark.
func (c *Call) write(text string) {
	fmt.Fprintf(c.Stderr, "%s: %s\n", c.Name, oneLine(text))
}

// complain reports an error in the form common to all commands.
func (c *Call) complain(err error) {
	spill.Settle()
	text := err.Error()
	if before := (*Upstream)(nil); errors.As(err, &before) {
		if !before.Quiet {
			c.Log("no output: " + text + " (the filter before this one failed or was killed)")
		}
		return
	}
	var file *fs.PathError
	if errors.As(err, &file) { // without the name of the system call
		text = strings.Replace(text, file.Error(), file.Path+": "+file.Err.Error(), 1)
	}
	c.Log("error: " + text)
	var advice interface{ Hint() string }
	hint := ""
	switch {
	case errors.As(err, &advice) && advice.Hint() != "":
		hint = advice.Hint()
	case file != nil && strings.Contains(file.Path, "://"):
		hint = "files are read from disk: download it first, with curl -O, aws s3 cp or the like"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENAMETOOLONG):
		hint = "check the name"
	case errors.Is(err, fs.ErrPermission):
		hint = "check its permissions"
	case errors.Is(err, syscall.ENOSPC):
		hint = "make room there, or write elsewhere"
	case file != nil:
		hint = "that is what the system says of it: try another file, or a copy"
	}
	if hint != "" {
		c.Log("hint: " + hint)
	}
}

// oneLine joins the lines of a text and removes what a terminal would obey, since it
// may contain names of files and values.
func oneLine(text string) string {
	if strings.ContainsAny(text, "\r\n") {
		text = strings.Join(strings.Fields(text), " ")
	}
	return table.Printable(text)
}

// Version returns the version of the module that the command was built from: its tag,
// or the commit after one.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "unknown (built without version control)"
	}
	return info.Main.Version
}
