package cudaname

import (
	"cmp"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// symbol is a kernel's name in the forms used to find its class.
type symbol struct {
	base  string // last component of scope: the short name
	scope string // with namespaces, without template arguments
	head  string // with namespaces and template arguments, without the parameter list
}

// ShortKernel returns a kernel's own name from its demangled one: without namespaces,
// return type, template arguments and parameters, as nsys stores it next to that.
func ShortKernel(demangled string) string {
	if base := newSymbol("", demangled).base; base != "" {
		return base
	}
	return demangled
}

// Demangle returns the demangled form of a mangled name, which ROCm records for kernels
// of libraries. A name that is not mangled, is incomplete, or would exceed 64 KiB is
// returned unchanged.
func Demangle(name string) string {
	if !strings.HasPrefix(name, "_Z") {
		return name
	}
	return demangle.Filter(name, demangle.NoClones, demangle.MaxLength(16))
}

// newSymbol parses a short and a demangled name, either of which may be "". A short name
// may itself be a demangled one, as in some text reports.
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

// splitDemangled returns the qualified name in a demangled name, and what precedes its
// parameter list. It tolerates names that are truncated or unbalanced.
func splitDemangled(name string) (scope, head string) {
	// Written as by nsys: parentheses are only for parameter lists.
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
	// The return type precedes the last space.
	scope = scope[strings.LastIndexByte(scope, ' ')+1:]
	return scope, name[:end]
}

// lastComponent returns what follows the last "::" of a scope.
func lastComponent(scope string) string {
	if i := strings.LastIndex(scope, "::"); i >= 0 && i+2 < len(scope) {
		return scope[i+2:]
	}
	return scope
}
