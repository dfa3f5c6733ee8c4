package cli

import (
	"embed"
	"fmt"
	"io"
	"strings"
)

// shells are the shells with completion.
var shells = []string{"bash", "zsh", "fish"}

// completeArgument is the last argument when a shell asks for completions.
const completeArgument = "--generate-bash-completion"

// scripts ask the command itself for its flags and their values, one per line, with a
// tab before a flag's purpose. If there are none, the shell offers files, unless the
// command ends with a status other than 0 because no file is wanted. NAME stands for
// the command's name.
//
//go:embed completion
var scripts embed.FS

// writeCompletion writes the completion script for the given name.
func writeCompletion(name, shell string, w io.Writer) error {
	script, err := scripts.ReadFile("completion/completion." + shell)
	if err != nil {
		return Misuse("no completion for "+shell, "--completion takes "+Or(shells))
	}
	_, err = io.WriteString(w, strings.ReplaceAll(string(script), "NAME", name))
	return err
}

// complete writes the completions of the last word before completeArgument, and returns
// the exit status.
func complete(cmd *Command, args []string, w io.Writer) int {
	var words []string
	given := args[:len(args)-1]
	for i, a := range given {
		switch {
		case a != "=": // bash treats = as a word
			words = append(words, a)
		case i == len(given)-1:
			words = append(words, "")
		}
	}
	if len(words) == 0 {
		return 0
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	if name, value, has := strings.Cut(last, "="); has && strings.HasPrefix(name, "--") {
		return cmd.completeValue(cmd.valued(name), value, name+"=", w)
	}
	if len(before) > 0 {
		if f := cmd.valued(before[len(before)-1]); f != nil {
			return cmd.completeValue(f, last, "", w)
		}
	}
	for _, f := range cmd.allFlags() {
		if strings.HasPrefix(last, "-") && strings.HasPrefix("--"+f.Name, last) {
			fmt.Fprintf(w, "--%s\t%s\n", f.Name, f.purpose())
		}
	}
	return 0
}

// valued returns the flag in an argument if its value may be the next argument, else
// nil.
func (cmd *Command) valued(arg string) *Flag {
	if !isFlag(arg) {
		return nil
	}
	f, _, has := cmd.flagOf(arg)
	if f == nil || has || f.isBool() {
		return nil
	}
	return f
}

// completeValue writes, after prefix, the values of a flag that begin with begin; of a
// list, the last element counts. It returns 1 if there are none and no file will do,
// else 0.
func (cmd *Command) completeValue(f *Flag, begin, prefix string, w io.Writer) int {
	if f == nil {
		return 0
	}
	if k := strings.LastIndexByte(begin, ',') + 1; f.List {
		prefix, begin = prefix+begin[:k], begin[k:]
	}
	status := 1
	if f.File != NoFile || strings.Contains(f.Usage, "FILE`") || strings.Contains(f.Usage, "DIR`") {
		status = 0
	}
	for _, v := range f.Values {
		if strings.HasPrefix(v, begin) {
			status = 0
			fmt.Fprintln(w, prefix+v)
		}
	}
	return status
}
