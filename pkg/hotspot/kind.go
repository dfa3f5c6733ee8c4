package hotspot

import (
	"slices"
	"strings"
)

// kind is what an expression is known, or by its name suggested, to be. A line does not
// state types; its function often does.
type kind string

const (
	unknownKind kind = "unknown"
	tensorKind  kind = "tensor" // PyTorch tensor on any device
	cpuKind     kind = "cpu"    // tensor that is certainly on the host
	numpyKind   kind = "numpy"
	listKind    kind = "list"
	dictKind    kind = "dict"
	setKind     kind = "set"
	strKind     kind = "str"
	numberKind  kind = "number"
)

// kinds determines what names and expressions hold.
type kinds struct {
	*code
	unhinted bool // ignore hints from names
}

// kindOf returns the kind of a path as used in statement i.
func (b *kinds) kindOf(path string, i int) kind { return b.kindFrom(path, i, maxFollow) }

// kindFrom is kindOf with a limit on the assignments followed. What the path itself
// shows comes first, then what was assigned to its first name, then what names suggest.
// Only code is certain evidence; names come last, and are unknownKind for most.
func (b *kinds) kindFrom(path string, i, depth int) kind {
	if k := resultKind(path); k != unknownKind {
		return k
	}
	if of, isCall := strings.CutSuffix(path, "()"); isCall && depth > 0 { // method of a tensor
		if at := strings.LastIndexByte(of, '.'); at > 0 && (onList("strong_ops", of[at+1:]) || onList("weak_ops", of[at+1:])) {
			switch k := b.kindFrom(of[:at], i, depth-1); k {
			case tensorKind, cpuKind, numpyKind:
				return k
			}
		}
	}
	root, rest := splitRoot(path)
	switch {
	case root == "np" || root == "numpy":
		return numpyKind
	case root == "torch" || root == "F":
		return tensorKind
	case root == "''" || root == "str":
		return strKind
	case root == "[]" || root == "list":
		return listKind
	case root == "{}" || root == "dict":
		return dictKind
	}
	if k := b.assigned(root, i, depth); k != unknownKind {
		if plainKinds[k] && rest != "" && rest[0] != '(' {
			return unknownKind // an item of a list can be anything
		}
		return k
	}
	if b.unhinted {
		return unknownKind
	}
	return hinted(path)
}

// named reports whether only names suggest what a path holds.
func (b *kinds) named(path string, i int) bool {
	b.unhinted = true
	defer func() { b.unhinted = false }()
	return b.kindOf(path, i) == unknownKind
}

// splitRoot splits a path after its first name.
func splitRoot(path string) (root, rest string) {
	if strings.HasPrefix(path, "''") || strings.HasPrefix(path, "[]") || strings.HasPrefix(path, "{}") || strings.HasPrefix(path, "()") {
		return path[:2], path[2:]
	}
	if at := strings.IndexAny(path, ".[("); at >= 0 {
		return path[:at], path[at:]
	}
	return path, ""
}

// resultKind returns the kind of a path's last call or attribute.
func resultKind(path string) kind {
	for suffix, k := range lexicon().results {
		if strings.HasSuffix(path, suffix) {
			return k
		}
	}
	return unknownKind
}

// assigned returns the kind of the value last assigned to a name before statement i.
// Branches are not distinguished: the last assignment above counts, however it was
// reached.
func (b *kinds) assigned(name string, i, depth int) kind {
	if depth == 0 {
		return unknownKind
	}
	set := b.setBy[name]
	before, _ := slices.BinarySearch(set, i)
	j := -1
	if before > 0 {
		j = set[before-1]
	}
	switch {
	case b.counts(name, i, j):
		return numberKind
	case j < 0: // a parameter may have an annotation
		if len(b.stmts) > 0 && b.stmts[0].Keyword == "def" {
			t := b.stmts[0].Tokens
			for i := range max(0, len(t)-2) {
				if t[i].Text == name && t[i+1].Text == ":" && lexicon().made[t[i+2].Text] == numberKind {
					return numberKind
				}
			}
		}
		return unknownKind
	}
	if s := &b.stmts[j]; len(s.Targets) == 1 {
		return b.valueKind(s, j, depth-1)
	}
	return unknownKind // unpacked: which of the values it got is not examined
}

// counts reports whether a loop around statement i, or a comprehension in it, counts
// with a name last assigned in statement j (-1: never): for k in range(n), for k, x in
// enumerate(xs).
func (b *kinds) counts(name string, i, j int) bool {
	for at, inner := i, len(b.stmts); at > j && at < inner; at, inner = b.stmts[at].loop, at {
		for _, l := range b.stmts[at].Loops {
			if k := slices.Index(l.Targets, name); k >= 0 {
				return strings.HasPrefix(l.Over, "range(") || k == 0 && len(l.Targets) > 1 && strings.HasPrefix(l.Over, "enumerate(")
			}
		}
	}
	return false
}

// valueKind returns the kind of what a statement assigns. A conditional expression has
// two values, so its kind is unknown. "cpu" as an argument of to() or device= puts a
// tensor on the host, however it is made.
func (b *kinds) valueKind(s *stmt, i, depth int) kind {
	value := rightSide(s.Tokens)
	if len(value) == 0 || slices.Contains(s.Operators, "if") {
		return unknownKind
	}
	for _, c := range s.Calls {
		if !c.Assigned {
			continue
		}
		if strings.Contains(c.Keys["device"], "cpu") || c.Name() == "to" && strings.Contains(c.Text, "cpu'") || c.Name() == "to" && strings.Contains(c.Text, `cpu"`) {
			return cpuKind
		}
		if k, known := lexicon().made[c.Path]; known {
			return k
		}
		return b.kindFrom(c.Path+"()", i, depth)
	}
	switch t := value[0]; {
	case t.Kind == Number && len(value) == 1:
		return numberKind
	case t.Text == "{" && value[len(value)-1].Text == "}":
		return dictKind
	case t.Kind == Name && len(value) <= 5 && !slices.ContainsFunc(value, func(t Token) bool { return t.Kind == Op && t.Text != "." }):
		return b.kindFrom(Text(value), i, depth)
	case b.computes(s, i, depth):
		return tensorKind
	}
	return unknownKind
}

// rightSide returns the tokens after the last "=" outside brackets.
func rightSide(tokens []Token) []Token {
	at := -1
	for i, op := range Outside(tokens) {
		if op == "=" {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	return tokens[at+1:]
}

// hinted returns the kind that the last name of a path suggests; an earlier name may
// suggest that it is on the host.
func hinted(path string) kind {
	last := strings.Trim(path, "[]()")
	at := strings.LastIndexByte(last, '.')
	parts := words(last[at+1:])
	for _, w := range parts { // host_logits are logits on the host
		if k := lexicon().hints[w]; k == cpuKind || k == numpyKind {
			return k
		}
	}
	for i := len(parts) - 1; i >= 0; i-- {
		if k, known := lexicon().hints[parts[i]]; known {
			return k
		}
	}
	for _, w := range words(last[:max(at, 0)]) {
		if k := lexicon().hints[w]; k == cpuKind || k == numpyKind {
			return k
		}
	}
	return unknownKind
}

// kindOfText returns the kind of an argument or index, given as text: tensorKind if it
// may contain a tensor's data, numberKind if all its names are the host's.
func (b *kinds) kindOfText(text string, i int) kind {
	inner := Statements([]string{text})
	if len(inner) != 1 {
		return unknownKind
	}
	paths := slices.Concat(inner[0].Attributes, inner[0].Names)
	hosts := map[string]int{} // how often names occur where only a size or type is asked for, or before a dot
	for _, c := range inner[0].Calls {
		root, _ := splitRoot(c.Path)
		if lexicon().made[c.Path] != numberKind && !onList("described", c.Name()) {
			paths = append(paths, c.Path+"()")
			continue
		}
		hosts[root]++
		for _, s := range Statements([]string{c.Text}) {
			for _, name := range s.Names {
				hosts[name]++
			}
		}
	}
	for _, p := range inner[0].Attributes {
		root, _ := splitRoot(p)
		hosts[root]++
	}
	if slices.ContainsFunc(paths, constant) {
		return numberKind // no tensor is compared with that
	}
	result := numberKind
	for _, p := range paths {
		switch {
		case ofHost(p):
			continue
		case hosts[p] > 0:
			hosts[p]--
			continue
		}
		switch b.kindOf(p, i) {
		case tensorKind:
			return tensorKind
		case numberKind:
		default:
			result = unknownKind
		}
	}
	return result
}

// ofHost reports whether a path is a property of a tensor that the host knows without
// its data.
func ofHost(path string) bool { return onList("described", lastName(bare.Replace(path))) }

// constant reports whether a path is an enumeration member or an element type:
// Mode.DECODE, torch.float16. Capitals in a module may be a number, with which tensors
// are compared.
func constant(path string) bool {
	parts := strings.Split(path, ".")
	last, of := parts[len(parts)-1], parts[max(len(parts)-2, 0)]
	return len(parts) > 1 && (ofHost(path) || of != "" && of[0] >= 'A' && of[0] <= 'Z' && of != strings.ToUpper(of) && last == strings.ToUpper(last))
}
