package cudaname

import (
	"cmp"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// symbol is a kernel's name in the forms that its class is looked up by.
type symbol struct {
	base  string // last component: the short name
	scope string // with its namespaces, without template arguments
	head  string // with both, without the parameter list
}

// ShortKernel returns a kernel's own name, of a demangled one: without namespaces,
// return type, template arguments and parameters, as nsys has it beside that.
func ShortKernel(demangled string) string {
	if base := newSymbol("", demangled).base; base != "" {
		return base
	}
	return demangled
}

// Demangle returns a kernel's demangled name where it is a mangled one, as ROCm records
// those of libraries; else the name as it is, and so where nothing is gained: a name
// that is not whole, or would be beyond 64 KiB.
func Demangle(name string) string {
	if !strings.HasPrefix(name, "_Z") {
		return name
	}
	return demangle.Filter(name, demangle.NoClones, demangle.MaxLength(16))
}

// newSymbol reads a short and a demangled name, either of which may be missing.
// A short name that is in fact a demangled one, as some text reports have it, is
// read the same.
func newSymbol(short, demangled string) symbol {
	demangled = cmp.Or(demangled, short)
	scope, head := splitDemangled(demangled)
	base := lastComponent(scope)
	if short != "" && short != demangled {
		shortScope, _ := splitDemangled(short)
		base = lastComponent(shortScope)
	}
	return symbol{base: base, scope: scope, head: head}
}

// splitDemangled returns a demangled name's qualified name and what stands before
// its parameter list. It reads what it can of a name cut short or out of balance.
func splitDemangled(name string) (scope, head string) {
	// As nsys writes it: parentheses are left to parameter lists.
	name = strings.ReplaceAll(name, "(anonymous namespace)", "<unnamed>")
	var out strings.Builder
	depth, inner, end := 0, 0, len(name)
scan:
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case depth > 0 && c == '(':
			inner++ // within a template argument: (((8)>(0))) compares, and closes nothing
		case inner > 0 && c == ')':
			inner--
		case inner > 0:
		case c == '<':
			depth++
		case c == '>' && i > 0 && name[i-1] == '-':
			// An arrow inside a template argument closes nothing.
		case c == '>' && depth > 0:
			depth--
		case depth > 0:
		case c == '(':
			end = i
			break scan
		default:
			out.WriteByte(c)
		}
	}
	scope = strings.TrimSpace(out.String())
	// What precedes is the return type.
	scope = scope[strings.LastIndexByte(scope, ' ')+1:]
	return scope, name[:end]
}

// lastComponent is what follows the last "::" of a scope.
func lastComponent(scope string) string {
	if i := strings.LastIndex(scope, "::"); i >= 0 && i+2 < len(scope) {
		return scope[i+2:]
	}
	return scope
}
