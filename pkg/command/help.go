package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

func init() {
	cli.VersionFlag = &cli.BoolFlag{Name: "version", Usage: "print the version", DisableDefaultText: true}
	cli.HelpFlag = &cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "print this text", DisableDefaultText: true}
}

// helpText is the template of the usage text; the library fills in the flags.
func helpText(cmd Command) string {
	var b strings.Builder
	b.WriteString(`{{.Name}}: {{.Usage}}.

Usage: {{.UsageText}}

{{.Description}}

Flags:
{{range .VisibleFlags}}  {{.}}
{{end}}
`)
	b.WriteString("Exit status: 0 done, 2 bad usage or input" + cmd.Status + ".\n\nExamples:\n")
	for _, e := range cmd.Examples {
		b.WriteString("  " + e + "\n")
	}
	return b.String()
}

// completionFlag prints a script for a shell, which asks the command itself
// for its flags.
var completionFlag = &cli.StringFlag{Name: "completion", Usage: "print the completion script for `SHELL`, bash or zsh"}

var completionScripts = map[string]string{
	"bash": `_%[1]s_complete() {
  local cur="${COMP_WORDS[COMP_CWORD]}" words
  [[ "$cur" == -* ]] || return 0
  words=$("${COMP_WORDS[0]}" "$cur" --generate-bash-completion 2>/dev/null)
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -o default -F _%[1]s_complete %[1]s
`,
	"zsh": `#compdef %[1]s
_%[1]s_complete() {
  local -a opts
  local cur=${words[-1]}
  if [[ "$cur" == -* ]]; then
    opts=("${(@f)$(${words[1]} ${cur} --generate-bash-completion 2>/dev/null)}")
    compadd -- "${opts[@]}"
  else
    _files
  fi
}
compdef _%[1]s_complete %[1]s
`,
}

func writeCompletion(w io.Writer, name, shell string) error {
	script, ok := completionScripts[shell]
	if !ok {
		return &UsageError{"no completion for " + shell, "--completion takes bash or zsh"}
	}
	_, err := fmt.Fprintf(w, script, name)
	return err
}
