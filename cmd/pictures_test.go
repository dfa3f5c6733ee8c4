package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Stand-ins for what draws the pictures: the first wants the page that it is to draw, and
// where in it.
const (
	drawn = `#!/bin/bash
for arg; do
	case $arg in
	--screenshot=*) shot=${arg#*=} ;;
	file://*) frame=${arg#file://} ;;
	esac
done
src=$(sed 's/.*<iframe src="\([^"]*\)".*/\1/' "$frame")
page=$(dirname "$frame")/${src%%#*}
[ -s "$page" ] && grep -q "id=\"${src#*#}\"" "$page" || [ "${src#*#}" = "" ] || exit 1
echo "$src" >"$shot"
`
	packed = `#!/bin/bash
cp "${@: -3:1}" "${@: -1}"
`
)

// TestPictures wants the pictures of the README to be there, small and described, and
// to be those that scripts/pictures.sh makes.
func TestPictures(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	tools, to := goTools(t), t.TempDir()
	for name, text := range map[string]string{"chromium": drawn, "cwebp": packed} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := shell(root, tools, "scripts/pictures.sh "+to); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made, _ := filepath.Glob(filepath.Join(to, "*.webp"))
	shown := regexp.MustCompile(`(?:srcset|src)="(\.github/images/([a-z-]+\.webp))"`).FindAllStringSubmatch(string(readme), -1)
	if len(made) != len(shown) || len(shown) < 4 || strings.Count(string(readme), "<img alt=\"") != len(shown)/2 {
		t.Errorf("%d pictures are made, %d shown, not all of them described", len(made), len(shown))
	}
	for _, m := range shown {
		picture, err := os.ReadFile(filepath.Join(root, m[1]))
		if err != nil || len(picture) > 100_000 || !strings.HasPrefix(string(picture), "RIFF") {
			t.Errorf("%s: %d bytes, %v", m[1], len(picture), err)
		}
		if _, err := os.Stat(filepath.Join(to, m[2])); err != nil {
			t.Errorf("scripts/pictures.sh does not make %s", m[2])
		}
	}
}
