package command

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/event"
)

// hostKinds are the kinds of rows about host threads that a recording may have and that
// only gaps looks at.
var hostKinds = []event.Kind{event.OS, event.Run}

// withoutFlag belongs to the filters that pass on all rows.
var withoutFlag = cli.Flag{
	Name: "without", Usage: "leave out the rows of KINDS about host threads, of " + kindNames() + ", as `KINDS` such as os,run", Check: checkWithout,
}

func kindNames() string {
	var names []string
	for _, k := range hostKinds {
		names = append(names, k.String())
	}
	return strings.Join(names, " and ")
}

func checkWithout(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(hostKinds, event.KindCode(name)) {
			return cli.Misuse("--without "+name+" is no kind that can be left out", "--without takes "+kindNames())
		}
	}
	return nil
}

// wantHost asks for the rows about host threads, but for those of some kinds:
// these are not read from an export, and left out of a stream or a checkpoint
// that has them.
func (c *Context) wantHost(without string) {
	names := strings.Split(without, ",")
	if without != "" {
		kinds := []event.Kind{}
		for code, name := range event.Kinds {
			kind := event.Kind(code)
			if !slices.Contains(names, name) && (c.selected.Kinds == nil || slices.Contains(c.selected.Kinds, kind)) {
				kinds = append(kinds, kind)
			}
		}
		c.selected.Kinds = kinds
	}
	for _, k := range hostKinds {
		if !slices.Contains(names, k.String()) {
			c.host = append(c.host, k)
		}
	}
}
