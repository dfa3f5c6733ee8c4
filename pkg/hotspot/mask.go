package hotspot

import (
	"fmt"
	"slices"
	"strings"
)

// masked finds masks as indices, whose result has as many items as the mask says.
// A mask is a comparison, or something called one; text in the index makes it a key of a
// dict, and a colon a slice with a mask's name in it. Assigning through a mask is no such
// break: the shape of what is assigned does not depend on the data.
func (b tensors) masked(i int) []finding {
	s := &b.stmts[i]
	for _, x := range s.Indexes {
		k := b.kindOf(x.Path, i)
		if k != tensorKind && k != unknownKind || slices.Contains(s.Targets, x.Path+"[]") || strings.Contains(x.Text, "lambda") {
			continue
		}
		if comparison(x.Text) && !strings.ContainsAny(x.Text, `'"`) && !b.numbers(x.Text, i) || slices.Contains(lastWords(x.Text), "mask") && !strings.Contains(x.Text, ":") {
			return []finding{{kind: GraphBreak, confidence: "medium", evidence: fmt.Sprintf("%s[%s]: a mask as index makes a shape that depends on the data", short(x.Path), short(x.Text))}}
		}
	}
	return nil
}

// comparison is whether the text of an index compares.
func comparison(text string) bool {
	operators := []string{"<", ">", "==", "!=", "~", ".gt(", ".lt(", ".eq(", ".ne(", ".ge(", ".le("}
	return slices.ContainsFunc(operators, func(op string) bool { return strings.Contains(text, op) })
}

// numbers is whether all that the text of an index names is known to be no tensor's data: a
// comparison of it is one plain truth value.
func (b tensors) numbers(text string, i int) bool {
	inner := Statements([]string{text})
	if len(inner) != 1 {
		return false
	}
	names, paths := slices.Clone(inner[0].Names), inner[0].Attributes
	drop := func(name string) {
		if at := slices.Index(names, name); at >= 0 {
			names = slices.Delete(names, at, at+1)
		}
	}
	for _, c := range inner[0].Calls {
		if lexicon().made[c.Path] != numberKind && !sizes.has(c.Name()) {
			return false
		}
		root, _ := splitRoot(c.Path)
		drop(root)
		for _, s := range Statements([]string{c.Text}) {
			for _, name := range s.Names {
				drop(name)
			}
		}
	}
	for _, p := range paths {
		root, _ := splitRoot(p)
		drop(root)
	}
	if slices.ContainsFunc(paths, constant) {
		return true // no tensor is compared with that
	}
	paths = append(slices.Clone(paths), names...)
	return len(paths)+len(inner[0].Calls) > 0 && !slices.ContainsFunc(paths, func(p string) bool { return b.kindOf(p, i) != numberKind && !known(p) })
}

// known is whether a path is what the host knows of a tensor without its data.
func known(path string) bool {
	last := path[strings.LastIndexByte(path, '.')+1:]
	return strings.Contains(path, ".shape") || last == "ndim" || last == "dtype" || last == "device"
}

// constant is whether a path is a member of an enumeration or a type of elements: Mode.DECODE,
// torch.float16. What a module has in capitals may be a number, with which tensors are compared.
func constant(path string) bool {
	parts := strings.Split(path, ".")
	last, of := parts[len(parts)-1], parts[max(len(parts)-2, 0)]
	return len(parts) > 1 && (known(path) || of != "" && of[0] >= 'A' && of[0] <= 'Z' && of != strings.ToUpper(of) && last == strings.ToUpper(last))
}
