package hotspot

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Engine is what is known about the functions of an inference engine: what to profile
// first, and where time leads. It is read from data/engine_*.toml.
type Engine struct {
	Name     string                         `json:"name"`                   // as people write it; "" for a program that is not a known engine
	Package  string                         `json:"package"`                // name of its Python package
	Variable string                         `json:"variable"`               // environment variable that takes the functions to profile
	ByFile   bool                           `toml:"by_file" json:"by_file"` // its files are recognised by name alone, as no other engine has such names
	Source   string                         `json:"source"`                 // where the names are documented
	Steps    []string                       `json:"steps"`                  // functions that run once per forward step, most certain first
	Class    []Class                        `json:"class"`                  // classes that can be profiled
	Receiver []struct{ Name, Class string } `json:"receiver"`               // attributes and variables, and the classes that they hold
	// Chain says where the time of a function goes that hides it in calls.
	Chain []struct {
		Function string   // Class.method that is known to hide its time
		Next     []string // where the time goes, as Class.method
	} `json:"chain"`
}

// Class is a class whose methods can be profiled.
type Class struct {
	Name     string   `json:"name"`     // PyExecutor
	Module   string   `json:"module"`   // dotted
	Defaults []string `json:"defaults"` // methods to profile first
	Methods  []string `json:"methods"`  // other known methods
	Tests    []string `json:"tests"`    // unit tests that cover the class: paths in the engine's repository
}

// linesVariable is the variable from which scripts/profile_lines.py takes functions.
const linesVariable = "HOSTBOUND_LINES"

// EngineNames returns the names of the engines on the command line.
func EngineNames() []string { return []string{"trtllm", "vllm", "sglang"} }

// EngineNamed returns the engine with one of EngineNames; it panics for other names.
func EngineNamed(name string) *Engine { return Engines()[slices.Index(EngineNames(), name)] }

// Engines returns the known engines, in the order of EngineNames. They must not be
// changed.
var Engines = sync.OnceValue(func() []*Engine {
	var all []*Engine
	for _, name := range EngineNames() {
		e := &Engine{}
		load("engine_"+name, e)
		all = append(all, e)
	}
	return all
})

// engineOf returns the engine of most profiled functions, recognised by package, else
// by file and method names. If there is none, it returns an engine for an unknown
// program.
func engineOf(fns []*function) *Engine {
	most, best := 0, &Engine{Variable: linesVariable}
	for _, e := range Engines() {
		n := 0
		for _, f := range fns {
			switch {
			case strings.HasPrefix(f.File, e.Package+"/"):
				n += len(fns) // outweighs all names
			case e.ByFile && e.classOf(f) != nil:
				n++
			}
		}
		if n > most {
			most, best = n, e
		}
	}
	return best
}

// class returns the class with a name, nil if unknown.
func (e *Engine) class(name string) *Class {
	if i := slices.IndexFunc(e.Class, func(c Class) bool { return c.Name == name }); i >= 0 {
		return &e.Class[i]
	}
	return nil
}

// classOf returns the known class of a function, nil for others. A function without a
// class in its name is recognised by its file.
func (e *Engine) classOf(f *function) *Class {
	if class := f.class(); class != "" {
		return e.class(class)
	}
	for i := range e.Class {
		c := &e.Class[i]
		if c.in(f.File) && c.has(f.last()) {
			return c
		}
	}
	return nil
}

// held returns the class of the object that an attribute or variable holds, nil if
// unknown.
func (e *Engine) held(name string) *Class {
	for _, r := range e.Receiver {
		if r.Name == name {
			return e.class(r.Class)
		}
	}
	return nil
}

// chain returns the full names of where a function that hides its time usually leads.
func (e *Engine) chain(name string) (all []string) {
	for _, c := range e.Chain {
		if c.Function == name {
			for _, next := range c.Next {
				class, method, _ := strings.Cut(next, ".")
				all = append(all, e.class(class).full(method))
			}
		}
	}
	return all
}

// defaults returns the full names of the functions to profile first.
func (e *Engine) defaults() (all []string) {
	for i := range e.Class {
		for _, m := range e.Class[i].Defaults {
			all = append(all, e.Class[i].full(m))
		}
	}
	return all
}

// Assign returns the environment assignment that profiles the named functions and the
// defaults. It is right whether the engine adds the value to its defaults or replaces
// them by it.
func (e *Engine) Assign(names []string) string {
	return e.Variable + "=" + strings.Join(unique(append(e.defaults(), names...)), ",")
}

// Command returns the command line that profiles the lines of the named functions into
// a file.
func (e *Engine) Command(file string, names []string) string {
	return fmt.Sprintf(e.profiler(file), e.Assign(names))
}

// profiler returns Command with %s in place of the assignment.
func (e *Engine) profiler(file string) string {
	if e.Variable == linesVariable {
		return "%s \\\n    scripts/profile_lines.py -o " + file + " -- COMMAND"
	}
	return "TLLM_LINE_PROFILER_PATH=" + file + " %s COMMAND"
}

// in reports whether a file can be that of the class, possibly without leading folders.
func (c *Class) in(file string) bool {
	name := c.Module[strings.LastIndexByte(c.Module, '.')+1:] + ".py"
	return file == name || strings.HasSuffix(file, "/"+name)
}

// has reports whether a method is known of the class.
func (c *Class) has(method string) bool {
	return slices.Contains(c.Defaults, method) || slices.Contains(c.Methods, method)
}

// full returns a method's name as profilers expect it.
func (c *Class) full(method string) string { return c.Module + "." + c.Name + "." + method }

// ToProfile returns the engine of most of the named functions
// ("GPUModelRunner.execute_model"), and their full names with those that they usually
// lead to; nil if none is known.
func ToProfile(names []string) (of *Engine, full []string) {
	most := 0
	for _, e := range Engines() {
		var found []string
		known := 0
		for _, name := range names {
			class, method, _ := strings.Cut(name, ".")
			c := e.class(class)
			if c == nil {
				continue
			}
			known++
			if c.has(method) {
				known++ // a class such as Scheduler exists in two engines
			}
			found = append(append(found, c.full(method)), e.chain(name)...)
		}
		if known > most {
			most, of, full = known, e, found
		}
	}
	return of, full
}
