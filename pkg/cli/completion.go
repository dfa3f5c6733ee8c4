package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// shells are the shells that commands complete in.
var shells = []string{"bash", "zsh", "fish"}

// writeCompletion writes the script with which a shell asks the command itself
// for its flags and their values.
func writeCompletion(root *cobra.Command, shell string, w io.Writer) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	}
	return Misuse("no completion for "+shell, "--completion takes "+Or(shells))
}
