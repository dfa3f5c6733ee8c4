package cli

import (
	"fmt"
	"io"
	"strings"
)

// shells are the shells that commands complete in.
var shells = []string{"bash", "zsh", "fish"}

// completeArgument comes last where a shell asks what an argument may become.
const completeArgument = "--generate-bash-completion"

// scripts ask the command itself for its flags and their values, a line each with
// a tab before what a flag is for; where there are none, shells offer files, unless the
// command ends with another status than 0, as it does where no file is wanted.
var scripts = map[string]string{
	"bash": `_%[1]s_complete() {
  local IFS=$'\n' found
  found=$("${COMP_WORDS[0]}" "${COMP_WORDS[@]:1:COMP_CWORD}" --generate-bash-completion 2>/dev/null) || compopt +o bashdefault +o default
  COMPREPLY=($(cut -f 1 <<<"$found"))
}
complete -o bashdefault -o default -F _%[1]s_complete %[1]s
`,
	"zsh": `#compdef %[1]s
_%[1]s() {
  local said
  local -a found
  said=$("${words[1]}" "${(@)words[2,CURRENT]}" --generate-bash-completion 2>/dev/null) || return
  found=("${(@f)$(cut -f 1 <<<"$said")}")
  if [[ -n "$found" ]]; then compadd -- "${found[@]}"; else _files; fi
}
if [[ "$funcstack[1]" == _%[1]s ]]; then _%[1]s "$@"; else compdef _%[1]s %[1]s; fi
`,
	"fish": `function _%[1]s_complete
  set -l last (commandline -ct)
  set -l words (commandline -opc) $last
  set -l found ($words[1] $words[2..-1] --generate-bash-completion 2>/dev/null)
  or return
  if set -q found[1]
    printf '%%s\n' $found
  else
    set -l flag (string match -r '^--[^=]+=' -- $last)
    for path in (__fish_complete_path (string replace -r '^--[^=]+=' '' -- $last))
      echo "$flag$path"
    end
  end
end
complete -c %[1]s -f -a '(_%[1]s_complete)'
`,
}

// writeCompletion writes the script with which a shell completes what is called by
// the given name.
func writeCompletion(name, shell string, w io.Writer) error {
	script, known := scripts[shell]
	if !known {
		return Misuse("no completion for "+shell, "--completion takes "+Or(shells))
	}
	_, err := fmt.Fprintf(w, script, name)
	return err
}

// complete writes what the last of the words before completeArgument may become, and returns
// the status with which the command ends.
func complete(cmd *Command, args []string, w io.Writer) int {
	var words []string
	given := args[:len(args)-1]
	for i, a := range given {
		switch {
		case a != "=": // which bash takes for a word
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

// valued returns the flag that an argument is if it takes a value that may follow, or nil.
func (cmd *Command) valued(arg string) *Flag {
	if len(arg) < 2 || arg[0] != '-' {
		return nil
	}
	f, _, has := cmd.flagOf(arg)
	if f == nil || has || f.isBool() {
		return nil
	}
	return f
}

// completeValue writes, after prefix, the values of a flag that begin as given, of a list
// its last one. It returns a status, which is 1 where there are none and no file will do.
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
