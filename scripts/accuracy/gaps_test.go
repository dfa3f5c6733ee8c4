package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestGapSections runs one kind of each section that reads what gaps says.
func TestGapSections(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"findings", "--only", "allocation"}, "| allocation | 1 | 100.0 % (20.7–100.0) | 100.0 % (20.7–100.0) | "},
		{[]string{"straggler", "--only", "a slow host"}, "| a slow host on one rank | 1 | 100.0 % (20.7–100.0) | 100.0 % (20.7–100.0) | 0.0 %"},
		{[]string{"layers", "--only", "one GPU"}, "| one GPU | 1 | 100.0 % (20.7–100.0) | 0.0 %"},
	} {
		var out, errs bytes.Buffer
		if status := run(append(test.args, "--seeds", "1"), &out, &errs); status != 0 || !strings.Contains(out.String(), test.want) {
			t.Errorf("%v: status %d, no %q in\n%s%s", test.args, status, test.want, out.String(), errs.String())
		}
	}
}
