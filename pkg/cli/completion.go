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
// a tab before what a flag is for; where there are none, shells offer files.
var scripts = map[string]string{
	"bash": `_%[1]s_complete() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" "${COMP_WORDS[@]:1:COMP_CWORD}" --generate-bash-completion 2>/dev/null | cut -f 1))
}
complete -o bashdefault -o default -F _%[1]s_complete %[1]s
`,
	"zsh": `#compdef %[1]s
_%[1]s() {
  local -a found
  found=("${(@f)$("${words[1]}" "${(@)words[2,CURRENT]}" --generate-bash-completion 2>/dev/null | cut -f 1)}")
  if [[ -n "$found" ]]; then compadd -- "${found[@]}"; else _files; fi
}
if [[ "$funcstack[1]" == _%[1]s ]]; then _%[1]s "$@"; else compdef _%[1]s %[1]s; fi
`,
	"fish": `function _%[1]s_complete
  set -l last (commandline -ct)
  set -l words (commandline -opc) $last
  set -l found ($words[1] $words[2..-1] --generate-bash-completion 2>/dev/null)
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

// complete writes what the last of the words before completeArgument may become.
func complete(cmd *Command, args []string, w io.Writer) {
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
		return
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	if name, value, has := strings.Cut(last, "="); has && strings.HasPrefix(name, "--") {
		cmd.completeValue(name, value, name+"=", w)
		return
	}
	if len(before) > 0 && cmd.completeValue(before[len(before)-1], last, "", w) {
		return
	}
	for _, f := range cmd.allFlags() {
		if strings.HasPrefix(last, "-") && strings.HasPrefix("--"+f.Name, last) && !f.hidden {
			fmt.Fprintf(w, "--%s\t%s\n", f.Name, f.purpose())
		}
	}
}

// completeValue writes, after prefix, the values of a flag that begin as given, and
// tells whether arg is a flag that takes a value.
func (cmd *Command) completeValue(arg, begin, prefix string, w io.Writer) bool {
	if len(arg) < 2 || arg[0] != '-' {
		return false
	}
	f, _, has := cmd.flagOf(arg)
	if f == nil || has || f.isBool() {
		return false
	}
	for _, v := range f.Values {
		if strings.HasPrefix(v, begin) {
			fmt.Fprintln(w, prefix+v)
		}
	}
	return true
}
