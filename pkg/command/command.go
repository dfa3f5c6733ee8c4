// Package command is what the commands share: how they find and open their
// input, bring it to the stage that they work at, write their output, explain
// themselves and end. It joins the formats (nsys, wire, checkpoint) with the
// analyses, which do not know of one another.
//
// # Manners
//
// A filter reads the files that it is given, or its standard input where there
// are none or the name is "-". A file may be at any earlier stage than the
// filter works at: an nsys export, a stream or a checkpoint; what is missing is
// run in the same process and gives the same answer as the pipe. Flags of the
// stages that are run this way can be given to the later filter.
//
// Output goes to standard output, or whole or not at all to the file of -o.
// Arrow is never written onto a terminal: there a table for people appears.
// An error is one line on standard error, "NAME: error: …", with a second one,
// "NAME: hint: …", where there is something to be done about it.
//
// Exit status: 0 done, 2 bad usage or input; verdict has further ones.
package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hostbound/hostbound/pkg/event"
)

// Flags, for commands to declare their own: this package is the only one that
// knows the library.
type (
	Flag       = cli.Flag
	BoolFlag   = cli.BoolFlag
	StringFlag = cli.StringFlag
	IntFlag    = cli.IntFlag
	Strings    = cli.StringSliceFlag
)

// Command describes a filter.
type Command struct {
	Name  string
	Usage string // one sentence, without a full stop
	// Args names the arguments in the usage text.
	Args string
	// Description says more, a paragraph or two.
	Description string
	// Status lists what further exit statuses mean.
	Status string
	// Examples are pipelines as people write them.
	Examples []string
	Flags    []Flag
	// Formats are what --format takes.
	Formats []string
	// Run does the work and returns the exit status.
	Run func(*Context) (int, error)
}

// Context is one call of a command.
type Context struct {
	*cli.Context
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Files  []string // the arguments

	name    string
	columns event.Set // what the command looks at once there are steps, 0 for all
	kept    bool      // --checkpoint holds the rows already
	cleanup []func()  // to run when the command has ended

	inputs   []*input // that were opened
	warnings []string // of this command itself
}

// UsageError is a command line that makes no sense.
type UsageError struct {
	Msg    string
	Advice string
}

func (e *UsageError) Error() string { return e.Msg }

// Hint says what to do instead.
func (e *UsageError) Hint() string { return e.Advice }

// StatusTrouble is the exit status for bad usage and bad input.
const StatusTrouble = 2

// memoryLimit is where the garbage collector starts to work harder, so that a
// process stays below half a GiB.
const memoryLimit = 400 << 20

// Main runs a command and returns its exit status.
func Main(cmd Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	status := 0
	app := &cli.App{
		Name:                      cmd.Name,
		Usage:                     cmd.Usage,
		UsageText:                 cmd.Name + " [flags] " + cmd.Args,
		Description:               cmd.Description,
		Version:                   version(),
		Flags:                     append(slices.Clone(cmd.Flags), completionFlag),
		CustomAppHelpTemplate:     helpText(cmd),
		HideHelpCommand:           true,
		EnableBashCompletion:      true,
		DisableSliceFlagSeparator: true,
		Reader:                    stdin,
		Writer:                    stdout,
		ErrWriter:                 stderr,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			return &UsageError{err.Error(), "'" + cmd.Name + " --help' lists the flags"}
		},
	}
	app.Action = func(c *cli.Context) (err error) {
		if shell := c.String(completionFlag.Name); shell != "" {
			return writeCompletion(stdout, cmd.Name, shell)
		}
		ctx := &Context{Context: c, Stdin: stdin, Stdout: stdout, Stderr: stderr, Files: c.Args().Slice(), name: cmd.Name}
		defer func() {
			for _, f := range ctx.cleanup {
				f()
			}
		}()
		if err := ctx.guard(cmd.Formats); err != nil {
			return err
		}
		status, err = cmd.Run(ctx)
		return err
	}
	args, err := flagsFirst(args, app.Flags)
	if err == nil {
		err = app.Run(args)
	}
	if err != nil {
		complain(stderr, cmd.Name, err)
		return StatusTrouble
	}
	return status
}

// complain writes an error the way every command does.
func complain(w io.Writer, name string, err error) {
	line := strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", " ")), " ")
	fmt.Fprintf(w, "%s: error: %s\n", name, line)
	var advice interface{ Hint() string }
	if errors.As(err, &advice) && advice.Hint() != "" {
		fmt.Fprintf(w, "%s: hint: %s\n", name, advice.Hint())
	} else if hint := hintFor(err); hint != "" {
		fmt.Fprintf(w, "%s: hint: %s\n", name, hint)
	}
}

// flagsFirst puts flags in front of the arguments, which the library wants but
// people do not.
func flagsFirst(args []string, flags []cli.Flag) ([]string, error) {
	takesValue := map[string]bool{}
	for _, f := range flags {
		_, isBool := f.(*cli.BoolFlag)
		for _, n := range f.Names() {
			takesValue[n] = !isBool
		}
	}
	sorted, files := args[:1:1], []string(nil)
	for i := 1; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			files = append(files, args[i+1:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			files = append(files, a)
			continue
		}
		sorted = append(sorted, a)
		name, _, hasValue := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if takesValue[name] && !hasValue {
			if i++; i == len(args) {
				return nil, &UsageError{"flag needs a value: " + a, "'--help' lists the flags"}
			}
			sorted = append(sorted, args[i])
		}
	}
	if len(files) > 0 {
		sorted = append(append(sorted, "--"), files...)
	}
	return sorted, nil
}

// version is the version of the module that the command was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
