package cmd

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestShort wants reports to be short where nobody asked for all of it, and all of it, under the
// names that the short ones end with, where somebody did.
func TestShort(t *testing.T) {
	for _, trace := range []string{
		filepath.Join(root, "testdata", "llama_tp2.sqlite"), filepath.Join(root, "testdata", "h100", "torch.json.gz"),
		generate(t, "--ranks", "2", "--steps", "30"),
	} {
		for command, c := range map[string]struct {
			most int
			all  []string
		}{
			"verdict": {40, []string{"--report"}},
			"gaps":    {100, []string{"--report", "all"}},
		} {
			short := must(t, nil, command, trace)
			if n := bytes.Count(short, []byte("\n")); n > c.most {
				t.Errorf("%s %s prints %d lines", command, trace, n)
			}
			left := regexp.MustCompile(`(?m)^Not shown: (.*?)\. To see all`).FindSubmatch(short)
			if left == nil {
				t.Errorf("%s %s leaves nothing out", command, trace)
				continue
			}
			whole := string(must(t, nil, command, append(c.all, trace)...))
			if strings.Contains(whole, "Not shown") {
				t.Errorf("%s %s %s leaves something out", command, c.all, trace)
			}
			for _, title := range strings.Split(string(left[1]), ", ") {
				if !strings.Contains(whole, "\n## "+title) || bytes.Contains(short, []byte("\n## "+title)) {
					t.Errorf("%s %s: section %q is not in the whole report alone", command, trace, title)
				}
			}
		}
	}
}
