package command

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// hostKinds are the kinds of rows about host threads that a recording may have and that
// only gaps looks at, each under the name by which it is left out.
var hostKinds = []hostKind{
	{"os", []event.Kind{event.OS}}, {"run", []event.Kind{event.Run}}, {"sample", []event.Kind{event.Sample, event.Backtrace}},
}

// hostKind is a name that --without takes, and the kinds of rows that it leaves out.
type hostKind struct {
	name  string
	kinds []event.Kind
}

// withoutFlag belongs to the filters that pass on all rows.
var withoutFlag = cli.Flag{
	Name: "without", List: true, Usage: "leave out host-thread rows of `KINDS`, such as os,run: " + kindNames() + " (and with it call stacks)", Check: checkWithout,
}

// kindNames lists the names of hostKinds for people.
func kindNames() string {
	var names []string
	for _, k := range hostKinds {
		names = append(names, k.name)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// checkWithout refuses names that are not of hostKinds: rows of other kinds are what
// analyses rest on.
func checkWithout(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if !slices.ContainsFunc(hostKinds, func(k hostKind) bool { return k.name == name }) {
			return cli.Misuse("--without "+name+" cannot be left out", "--without takes "+kindNames())
		}
	}
	return nil
}

// wantHost asks for the rows about host threads, but for those of some kinds:
// these are not read from an export, and left out of a stream or a checkpoint
// that has them.
func (r *reading) wantHost(without string) {
	names := strings.Split(without, ",")
	var left []event.Kind
	for _, k := range hostKinds {
		if slices.Contains(names, k.name) {
			left = append(left, k.kinds...)
		} else {
			r.host = append(r.host, k.kinds...)
		}
	}
	if len(left) == 0 {
		return
	}
	kinds := []event.Kind{}
	for code := range event.Kinds {
		kind := event.Kind(code)
		if !slices.Contains(left, kind) && (r.selected.Kinds == nil || slices.Contains(r.selected.Kinds, kind)) {
			kinds = append(kinds, kind)
		}
	}
	r.selected.Kinds = kinds
}
