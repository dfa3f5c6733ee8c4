package hotspot

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Engine is what is known of the functions of an inference engine: what to profile first,
// and where time leads. Its data files are data/engine_*.toml.
type Engine struct {
	Name     string                         `json:"name"`                   // as people write it; "" of a program that is none of them
	Package  string                         `json:"package"`                // its Python package
	Variable string                         `json:"variable"`               // of the environment, that takes the functions to profile
	ByFile   bool                           `toml:"by_file" json:"by_file"` // its files are told by their names where the package is not given: none else has such
	Source   string                         `json:"source"`                 // where the names are from
	Steps    []string                       `json:"steps"`                  // functions that run once per forward step, the surest first
	Class    []Class                        `json:"class"`                  // those that can be profiled
	Receiver []struct{ Name, Class string } `json:"receiver"`               // attributes and variables, and what they hold
	// Chain says where the time goes that a function hides in calls.
	Chain []struct {
		Function string   // Class.method that is known to hide its time
		Next     []string // Class.method each: where that goes
	} `json:"chain"`
}

// Class is a class whose methods can be profiled.
type Class struct {
	Name     string   `json:"name"`     // PyExecutor
	Module   string   `json:"module"`   // with dots
	Defaults []string `json:"defaults"` // methods that are profiled first
	Methods  []string `json:"methods"`  // others that are known
	Tests    []string `json:"tests"`    // unit tests that cover it: paths in the engine's repository
}

// linesVariable is what scripts/profile_lines.py takes functions from.
const linesVariable = "HOSTBOUND_LINES"

// EngineNames are the names of the engines on a command line.
func EngineNames() []string { return []string{"trtllm", "vllm", "sglang"} }

// EngineNamed is the engine with one of EngineNames.
func EngineNamed(name string) *Engine { return Engines()[slices.Index(EngineNames(), name)] }

// Engines returns those that are known, in the order of EngineNames. They must not be changed.
var Engines = sync.OnceValue(func() []*Engine {
	var all []*Engine
	for _, name := range EngineNames() {
		e := &Engine{}
		load("engine_"+name, e)
		all = append(all, e)
	}
	return all
})

// engineOf is the engine whose functions were profiled: that of most files, told by their
// package, else by their names and methods; a program of its own where it is none.
func engineOf(fns []*function) *Engine {
	most, best := 0, &Engine{Variable: linesVariable}
	for _, e := range Engines() {
		n := 0
		for _, f := range fns {
			switch {
			case strings.HasPrefix(f.File, e.Package+"/"):
				n += len(fns) // counts for more than all names
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

// class returns a class by its name, nil where it is not known.
func (e *Engine) class(name string) *Class {
	if i := slices.IndexFunc(e.Class, func(c Class) bool { return c.Name == name }); i >= 0 {
		return &e.Class[i]
	}
	return nil
}

// classOf is the known class that a function is of, nil for others. A function without a
// class in its name is told by its file.
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

// held is the class of what an attribute or variable of a name holds, nil where that is
// not known.
func (e *Engine) held(name string) *Class {
	for _, r := range e.Receiver {
		if r.Name == name {
			return e.class(r.Class)
		}
	}
	return nil
}

// chain is where a function that hides its time usually leads: full names.
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

// defaults are the functions that are profiled first: full names.
func (e *Engine) defaults() (all []string) {
	for i := range e.Class {
		for _, m := range e.Class[i].Defaults {
			all = append(all, e.Class[i].full(m))
		}
	}
	return all
}

// Assign is the assignment with which the named functions are profiled beside those that
// are profiled first: right whether the value adds to these or replaces them.
func (e *Engine) Assign(names []string) string {
	return e.Variable + "=" + strings.Join(unique(append(e.defaults(), names...)), ",")
}

// Command is the command line that profiles the lines of the named functions into a file.
func (e *Engine) Command(file string, names []string) string {
	return fmt.Sprintf(e.profiler(file), e.Assign(names))
}

// profiler is Command with %s for the assignment.
func (e *Engine) profiler(file string) string {
	if e.Variable == linesVariable {
		return "%s \\\n    scripts/profile_lines.py -o " + file + " -- COMMAND"
	}
	return "TLLM_LINE_PROFILER_PATH=" + file + " %s COMMAND"
}

// in is whether a file can be that of the class: what stands ahead of its name may be left out.
func (c *Class) in(file string) bool {
	name := c.Module[strings.LastIndexByte(c.Module, '.')+1:] + ".py"
	return file == name || strings.HasSuffix(file, "/"+name)
}

// has is whether a method is one of the class.
func (c *Class) has(method string) bool {
	return slices.Contains(c.Defaults, method) || slices.Contains(c.Methods, method)
}

// full is a method's name as profilers want it.
func (c *Class) full(method string) string { return c.Module + "." + c.Name + "." + method }

// ToProfile is the engine that most of the named functions ("GPUModelRunner.execute_model")
// are of, and their full names with those that they usually lead to; nil where none is known.
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
				known++ // Scheduler is a class of two engines
			}
			found = append(append(found, c.full(method)), e.chain(name)...)
		}
		if known > most {
			most, of, full = known, e, found
		}
	}
	return of, full
}
