package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Flag is a flag of a command, as its manual has it.
type Flag struct {
	// Name is given with two dashes, Short, a letter or nothing, with one.
	Name, Short string
	// Usage is a phrase with the name of the value in backquotes.
	Usage string
	// Default is the value without the flag. Its type is the flag's: string,
	// []string (one each time that it is given), int, int64, uint64, float64, bool
	// or time.Duration. nil is the empty string.
	Default any
	// Values are all that the flag takes, in the order of the manual. nil: any.
	Values []string
	// Check says what is wrong with a value that was given, before the command
	// begins. nil: nothing is.
	Check func(value string) error
	// File says whether the value is the name of an input or an output.
	File FileUse
	// Group is the heading of the manual that the flag is under, empty for the
	// first one.
	Group string

	hidden bool
}

// FileUse is what a command does with the file that a flag names.
type FileUse int

// What a command does with a file. Arguments that are no flags are read.
const (
	NoFile FileUse = iota
	Reads
	Writes
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
	{Name: manFlag, Usage: "print the manual page, for man -l -", Default: false, hidden: true},
}

func (cmd *Command) allFlags() []Flag { return slices.Concat(cmd.Flags, common) }

// add declares the flag.
func (f *Flag) add(set *pflag.FlagSet) {
	switch value := f.Default.(type) {
	case nil:
		set.StringP(f.Name, f.Short, "", f.Usage)
	case string:
		set.StringP(f.Name, f.Short, value, f.Usage)
	case []string:
		set.StringArrayP(f.Name, f.Short, value, f.Usage)
	case int:
		set.IntP(f.Name, f.Short, value, f.Usage)
	case int64:
		set.Int64P(f.Name, f.Short, value, f.Usage)
	case uint64:
		set.Uint64P(f.Name, f.Short, value, f.Usage)
	case float64:
		set.Float64P(f.Name, f.Short, value, f.Usage)
	case bool:
		set.BoolP(f.Name, f.Short, value, f.Usage)
	case time.Duration:
		set.DurationP(f.Name, f.Short, value, f.Usage)
	default:
		panic(fmt.Sprintf("BUG: --%s is a %T", f.Name, value))
	}
	set.Lookup(f.Name).Hidden = f.hidden
}

// IsSet tells whether a flag was given.
func (c *Call) IsSet(name string) bool { return c.flags.Changed(name) }

// String returns the value of a flag; here and below a flag that the command
// does not have reads as its type's zero value.
func (c *Call) String(name string) string { return value(name, c.flags.GetString) }

// Strings returns the values of a flag that can be given again.
func (c *Call) Strings(name string) []string { return value(name, c.flags.GetStringArray) }

// Int returns the value of a flag.
func (c *Call) Int(name string) int { return value(name, c.flags.GetInt) }

// Int64 returns the value of a flag.
func (c *Call) Int64(name string) int64 { return value(name, c.flags.GetInt64) }

// Uint64 returns the value of a flag.
func (c *Call) Uint64(name string) uint64 { return value(name, c.flags.GetUint64) }

// Float returns the value of a flag.
func (c *Call) Float(name string) float64 { return value(name, c.flags.GetFloat64) }

// Bool returns the value of a flag.
func (c *Call) Bool(name string) bool { return value(name, c.flags.GetBool) }

// Duration returns the value of a flag.
func (c *Call) Duration(name string) time.Duration { return value(name, c.flags.GetDuration) }

func value[T any](name string, get func(string) (T, error)) T {
	v, _ := get(name)
	return v
}

// given returns the values that a flag was given.
func (c *Call) given(f *Flag) []string {
	if !c.IsSet(f.Name) {
		return nil
	}
	if _, several := f.Default.([]string); several {
		return c.Strings(f.Name)
	}
	return []string{c.flags.Lookup(f.Name).Value.String()}
}

// check refuses values that flags do not take, and outputs that are inputs.
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
	if err := c.guard(cmd); err != nil {
		return err
	}
	return refuse(func(f *Flag, value string) error {
		if f.Check == nil {
			return nil
		}
		return f.Check(value)
	})
}

func (f *Flag) checkValues(value string) error {
	if len(f.Values) == 0 || slices.Contains(f.Values, value) {
		return nil
	}
	return Misuse("unknown --"+f.Name+" "+value, "--"+f.Name+" takes "+Or(f.Values))
}

// Or lists words: "a", "a or b", "a, b or c".
func Or(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// flagError says what to do about a command line that cannot be read.
func flagError(cmd *Command, err error) error {
	advice := "'" + cmd.Name + " --help' lists the flags"
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		advice = "flags of more than a letter have two dashes; " + advice
	case errors.As(err, &invalid):
		name, text := invalid.GetFlag().Name, invalid.GetValue()
		switch invalid.GetFlag().Value.Type() {
		case "duration":
			return Misuse(fmt.Sprintf("--%s %s is no time", name, text), "a time has a unit: 500us, 1ms, 1.5s")
		case "int":
			return Misuse(fmt.Sprintf("--%s %s is no whole number", name, text), advice)
		}
	}
	return Misuse(err.Error(), advice)
}
