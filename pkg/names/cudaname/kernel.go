package cudaname

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// pattern matches a name that contains one of some alternatives, and none of others.
type pattern struct{ yes, no func() *regexp.Regexp }

// anyOf returns alternatives as one expression that ignores case.
func anyOf(alternatives []string) func() *regexp.Regexp {
	return later(`(?i)` + strings.Join(alternatives, "|"))
}

// later returns an expression that is compiled when first needed: few commands classify
// names, and compiling all expressions takes a third of a short command's time.
func later(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// match reports whether a name matches the pattern.
func (p *pattern) match(s string) bool {
	return p.yes().MatchString(s) && (p.no == nil || !p.no().MatchString(s))
}

// class is a class of kernels other than collectives.
type class struct {
	event.Class
	pattern
}

//go:embed names.toml
var namesFile string

// known is names.toml, read on first use.
var known = sync.OnceValue(func() (k struct {
	kernels map[string]*pattern        // what [ClassKernel] asks for by name
	classes []class                    // of kernels, after the collectives; the first match wins
	calls   map[string]map[string]bool // lists of calls
	begin   map[string][]string        // lists of how calls begin
}) {
	type alternatives struct {
		Name    string
		Yes, No []string
	}
	var file struct {
		Kernel, Class []alternatives
		Calls, Begin  map[string]string
	}
	if _, err := toml.Decode(namesFile, &file); err != nil {
		panic("BUG: names.toml: " + err.Error())
	}
	compiled := func(a alternatives) (p pattern) {
		if p.yes = anyOf(a.Yes); a.No != nil {
			p.no = anyOf(a.No)
		}
		return p
	}
	k.kernels, k.calls, k.begin = map[string]*pattern{}, map[string]map[string]bool{}, map[string][]string{}
	for _, a := range file.Kernel {
		k.kernels[a.Name] = new(compiled(a))
	}
	for _, a := range file.Class {
		k.classes = append(k.classes, class{event.ClassCode(a.Name), compiled(a)})
	}
	for list, words := range file.Calls {
		k.calls[list] = map[string]bool{}
		for call := range strings.FieldsSeq(words) {
			k.calls[list][call] = true
		}
	}
	for list, words := range file.Begin {
		k.begin[list] = strings.Fields(words)
	}
	return k
})

// kernelIs reports whether a kernel's name matches a pattern of names.toml.
func kernelIs(what, name string) bool { return known().kernels[what].match(name) }

// maxClassed is how many bytes of each form of a name are used. No compiler writes
// longer ones, and a megabyte would take eight seconds.
const maxClassed = 16 << 10

// ClassKernel returns the class of a kernel by its short and its demangled name, either
// of which may be empty. It uses the first 16 KiB of each. The package comment has the
// table of classes, and says how names are matched.
func ClassKernel(short, demangled string) event.Class {
	sym := newSymbol(short, demangled)
	for _, s := range []*string{&sym.base, &sym.scope, &sym.head} {
		*s = (*s)[:min(len(*s), maxClassed)]
	}
	if kernelIs("not_collective", sym.base) {
		return classByRules(sym.base) // its namespaces are those of collectives
	}
	mayReduce := !kernelIs("not_allreduce", sym.base)
	if class := classCollective(sym.base, mayReduce); class != event.Other {
		return class
	}
	switch {
	case kernelIs("deep_ep", sym.scope): // its kernels are named dispatch and combine
		return event.Comm
	case kernelIs("moe_namespace", sym.scope):
		return event.MoE
	}
	if class := classByRules(sym.base); class != event.Other {
		return class
	}
	for _, name := range []string{sym.scope, sym.head} {
		if class := classCollective(name, mayReduce); class != event.Other {
			return class
		}
		if class := classByRules(name); class != event.Other {
			return class
		}
	}
	return event.Other
}

// classCollective returns Allreduce, Comm or Other.
func classCollective(name string, mayReduce bool) event.Class {
	switch {
	case kernelIs("two_shot_tail", name):
		return event.Comm
	case mayReduce && (kernelIs("allreduce", name) || kernelIs("multimem", name)):
		return event.Allreduce
	case kernelIs("comm", name):
		return event.Comm
	}
	return event.Other
}

func classByRules(name string) event.Class {
	for i := range known().classes {
		if c := &known().classes[i]; c.match(name) {
			return c.Class
		}
	}
	return event.Other
}
