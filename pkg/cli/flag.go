package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"
)

// Flag is a flag of a command, as in the manual.
type Flag struct {
	// Name is given with two dashes, Short with one; Short is a letter or "".
	Name, Short string
	// Usage is a phrase with the name of the value in backquotes.
	Usage string
	// Default is the value if the flag is not given. Its type is the flag's: string,
	// []string (the flag may be repeated), int, bool or time.Duration. nil is the empty
	// string.
	Default any
	// Values are all valid values, in manual order; nil if any value is. For a list
	// they are its possible elements, which Check or the command checks.
	Values []string
	// Check returns an error for an invalid value, before the command begins; nil if
	// there is nothing to check.
	Check func(value string) error
	// File says whether the value names an input or an output.
	File FileUse
	// Group is the manual's heading for the flag, "" for the first one.
	Group string
	// List says that the value is a comma-separated list.
	List bool
}

// FileUse is what a command does with the file that a flag names.
type FileUse int

// What a command does with a file. Arguments that are not flags are read.
const (
	NoFile FileUse = iota // the flag does not name a file
	Reads                 // the file must exist
	Writes                // must not be an input; it appears whole or not at all
)

// Flags that every command has.
const (
	helpFlag       = "help"
	versionFlag    = "version"
	completionFlag = "completion"
	manFlag        = "man"
	outputFlag     = "output"
)

// common are the flags that every command has, after its own.
var common = []Flag{
	{Name: helpFlag, Short: "h", Usage: "print this text", Default: false},
	{Name: versionFlag, Usage: "print the version", Default: false},
	{Name: completionFlag, Usage: "print the completion script for `SHELL`: bash, zsh or fish", Values: shells},
	{Name: manFlag, Usage: "print the manual page, for man -l -", Default: false},
}

func (cmd *Command) allFlags() []Flag { return slices.Concat(cmd.Flags, common) }

// declare returns the flag in the library's form.
func (f *Flag) declare() cli.Flag {
	switch value := f.Default.(type) {
	case nil:
		return &cli.StringFlag{Name: f.Name}
	case string:
		return &cli.StringFlag{Name: f.Name, Value: value}
	case []string:
		return &cli.StringSliceFlag{Name: f.Name, Value: cli.NewStringSlice(value...)}
	case int:
		return &cli.IntFlag{Name: f.Name, Value: value}
	case bool:
		return &cli.BoolFlag{Name: f.Name, Value: value}
	case time.Duration:
		return &cli.DurationFlag{Name: f.Name, Value: value}
	default:
		panic(fmt.Sprintf("BUG: --%s is a %T", f.Name, value))
	}
}

// Flags gives access to the flags of a call.
type Flags struct {
	cmd    *Command
	values *cli.Context
}

// IsSet reports whether a flag was given.
func (f *Flags) IsSet(name string) bool { return f.values.IsSet(name) }

// String returns the value of a flag. For it and the methods below, a flag that the
// command does not have reads as the zero value.
func (f *Flags) String(name string) string { return f.values.String(name) }

// Strings returns the values of a flag that may be repeated.
func (f *Flags) Strings(name string) []string { return f.values.StringSlice(name) }

// Int returns the value of a flag.
func (f *Flags) Int(name string) int { return f.values.Int(name) }

// Bool returns the value of a flag.
func (f *Flags) Bool(name string) bool { return f.values.Bool(name) }

// Duration returns the value of a flag.
func (f *Flags) Duration(name string) time.Duration { return f.values.Duration(name) }

// Has reports whether the command has a flag.
func (f *Flags) Has(name string) bool { return f.cmd.find(name, false) != nil }

// given returns the values given for a flag, nil if it was not given.
func (f *Flags) given(flag *Flag) []string {
	if !f.IsSet(flag.Name) {
		return nil
	}
	if _, several := flag.Default.([]string); several {
		return f.Strings(flag.Name)
	}
	return []string{fmt.Sprint(f.values.Value(flag.Name))}
}

// check refuses invalid flag values, and outputs that are inputs.
func (c *Call) check(cmd *Command) error {
	refuse := func(how func(f *Flag, value string) error) error {
		for _, f := range cmd.Flags {
			for _, v := range c.given(&f) {
				if err := how(&f, v); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := refuse((*Flag).checkValues); err != nil {
		return err
	}
	if slices.Contains(c.Files, "") {
		return Misuse("the name of a file is empty", "give a name, or none to read standard input")
	}
	if err := c.Guard(nil); err != nil {
		return err
	}
	return refuse(func(f *Flag, value string) error {
		if f.Check == nil {
			return nil
		}
		return f.Check(value)
	})
}

// checkValues refuses a value that is not in Values, if there are any, and an empty
// file name.
func (f *Flag) checkValues(value string) error {
	switch {
	case f.File != NoFile:
		return NotEmpty(f.Name)(value)
	case len(f.Values) == 0 || f.List || slices.Contains(f.Values, value):
		return nil
	}
	return Misuse("unknown --"+f.Name+" "+value, "--"+f.Name+" takes "+Or(f.Values))
}

// NotEmpty returns the Check of a flag that names a file or a folder.
func NotEmpty(name string) func(value string) error {
	return func(value string) error {
		if value == "" {
			return Misuse("--"+name+" is empty", "give a name, or leave --"+name+" out")
		}
		return nil
	}
}

// Or returns words as a list: "a", "a or b", "a, b or c".
func Or(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// find returns the flag with a name or, if short, with a letter.
func (cmd *Command) find(name string, short bool) *Flag {
	for _, f := range cmd.allFlags() {
		if !short && f.Name == name || short && f.Short == name && name != "" {
			return &f
		}
	}
	return nil
}

// isFlag reports whether an argument is a flag; "-" alone is a file.
func isFlag(arg string) bool { return strings.HasPrefix(arg, "-") && arg != "-" }

// arrange puts flags before files, as the library requires, and writes each as
// --name=value. It refuses unknown flags, with advice that uses the name the command
// was called by.
func arrange(cmd *Command, name string, args []string) ([]string, error) {
	if len(args) > 0 && args[len(args)-1] == completeArgument {
		return args[len(args)-1:], nil
	}
	advice := "'" + name + " --help' lists the flags"
	unknown := func(flag string) error {
		return Misuse("unknown flag: "+flag, cmd.didYouMean(flag)+advice)
	}
	var flags, files []string
	once := map[string]string{} // flags whose second value would silently replace the first
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			files = append(files, args[i+1:]...)
			break
		}
		if !isFlag(a) {
			files = append(files, a)
			continue
		}
		f, value, has := cmd.flagOf(a)
		switch {
		case f == nil:
			flag, _, _ := strings.Cut(a, "=")
			return nil, unknown(flag)
		case has || f.isBool():
		case i+1 == len(args):
			return nil, Misuse("flag needs an argument: "+a, advice)
		default:
			i++
			value, has = args[i], true
		}
		if first, again := once[f.Name]; again && first != value {
			return nil, Misuse("--"+f.Name+" is given twice: "+first+" and "+value, "give it once; a list has commas")
		}
		if f.List || f.File == Writes {
			once[f.Name] = value
		}
		if has {
			value = "=" + value
		}
		flags = append(flags, "--"+f.Name+value)
	}
	return append(append(flags, "--"), files...), nil
}

// didYouMean suggests what an unknown flag may mean: the equivalent here of another
// program's flag, a flag that has this word as a value, the most similar flag, or two
// dashes if a word was given one.
func (cmd *Command) didYouMean(flag string) string {
	word := strings.TrimLeft(flag, "-")
	if advice := cmd.Foreign[word]; advice != "" {
		return advice + "; "
	}
	var names []string
	for _, f := range cmd.allFlags() {
		if strings.HasPrefix(flag, "--") && slices.Contains(f.Values, word) {
			return "did you mean --" + f.Name + " " + word + "? "
		}
		names = append(names, f.Name)
	}
	if name := closest(word, names); name != "" {
		return "did you mean --" + name + "? "
	}
	if len(word) > 1 && !strings.HasPrefix(flag, "--") {
		return "flags of more than a letter have two dashes; "
	}
	return ""
}

// closest returns the name most similar to a word, "" if none is similar. The measure
// is the one of the library's own suggestions, which have no such limit.
func closest(word string, names []string) (name string) {
	best := 0.85 // of 1; a word of eight letters with two of them missing, wrong or swapped scores higher
	for _, n := range names {
		if d := smetrics.JaroWinkler(strings.ToLower(word), n, 0.7, 4); d > best {
			best, name = d, n
		}
	}
	return name
}

// flagOf splits an argument that begins with a dash: --name, --name=value, -n or
// -nvalue. The flag is nil if there is no such flag.
func (cmd *Command) flagOf(arg string) (f *Flag, value string, has bool) {
	if long, is := strings.CutPrefix(arg, "--"); is {
		name, value, has := strings.Cut(long, "=")
		return cmd.find(name, false), value, has
	}
	f = cmd.find(arg[1:2], true)
	value = strings.TrimPrefix(arg[2:], "=")
	if f != nil && f.isBool() && value != "" {
		return nil, "", false
	}
	return f, value, arg[2:] != ""
}

// isBool reports whether the flag takes no value.
func (f *Flag) isBool() bool {
	_, is := f.Default.(bool)
	return is
}

// badValue matches the library's error for a value of the wrong type.
var badValue = regexp.MustCompile(`^invalid (?:boolean )?value "(.*)" for (?:flag )?-([^:]+): `)

// valueError returns an error with advice for a value of the wrong type.
func valueError(cmd *Command, name string, err error) error {
	advice := "'" + name + " --help' lists the flags"
	m := badValue.FindStringSubmatch(err.Error())
	if m == nil {
		return Misuse(err.Error(), advice)
	}
	what := "not of its type"
	switch cmd.find(m[2], false).Default.(type) {
	case time.Duration:
		what, advice = "not a time", "a time has a unit: 500us, 1ms, 1.5s"
	case int:
		what = "not a whole number"
	case bool:
		what = "neither true nor false"
	}
	return Misuse(fmt.Sprintf("--%s %s is %s", m[2], m[1], what), advice)
}
