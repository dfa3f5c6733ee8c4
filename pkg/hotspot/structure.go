package hotspot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/pylex"
)

// Limits of what the structure of a function says.
const (
	manyItems  = 100  // iterations from which a loop in Python is one
	someItems  = 8    // … with medium confidence
	plainUs    = 50.0 // time per iteration above which a loop's body does real work
	rarely     = 0.1  // share of the cases in which a result is used, to be rarely used
	chainLines = 3    // small tensor operations in a row that one would do
	helperUs   = 2.5  // time per hit of a call that does next to nothing, the profiler's own included
	propertyUs = 0.8  // time per hit of a plain attribute above which it is a property or a binding
)

// strongOps are tensor operations that move or view; weakOps compute elementwise.
var strongOps = set("view reshape permute transpose unsqueeze squeeze expand expand_as contiguous narrow flatten unflatten chunk to half float bfloat16 type_as movedim swapaxes T mT view_as repeat unbind")
var weakOps = set("split slice select index_select gather cat stack masked_fill masked_fill_ roll flip copy_ fill_ zero_ add_ sub_ mul_ div_ add sub mul div clamp clamp_ neg pow square sqrt rsqrt mean sum exp log sigmoid softmax where type tril triu abs tanh silu relu amax argmax max min size dim numel ones_like zeros_like clone detach long int bool tensor_split")

func set(names string) map[string]bool {
	all := map[string]bool{}
	for _, n := range strings.Fields(names) {
		all[n] = true
	}
	return all
}

// tensorOps counts small tensor operations of a statement; alone is whether it does
// nothing else.
func (b *body) tensorOps(i int) (strong, weak int, alone bool) {
	s := &b.stmts[i]
	alone = true
	for _, c := range s.Calls {
		name := c.Name()
		kind := unknownKind
		if r := c.Receiver(); r != "" {
			kind = b.kindOf(r, i)
		}
		onTensor := c.Receiver() != "" && (kind == tensorKind || kind == unknownKind || kind == cpuKind)
		switch {
		case strongOps[name] && onTensor:
			strong++
		case weakOps[name] && onTensor:
			weak++
		default:
			alone = false
		}
	}
	for _, x := range s.Indexes {
		if strings.Contains(x.Text, ":") && (strings.Contains(x.Text, ",") || strings.Contains(x.Text, "...") || b.kindOf(x.Path, i) == tensorKind) {
			weak++
		}
	}
	return strong, weak, alone
}

// chain finds three or more lines of small tensor operations around statement i.
func (b *body) chain(i int, sc Scope) []finding {
	strong, weak, alone := b.tensorOps(i)
	if strong+weak == 0 || !alone {
		return nil
	}
	first, last := i, i
	lines, strongs := 1, strong
	for _, step := range []int{-1, 1} {
		for j := i + step; j >= 0 && j < len(b.stmts) && b.stmts[j].parent == b.stmts[i].parent; j += step {
			st, w, alone := b.tensorOps(j)
			if st+w == 0 || !alone || compound[b.stmts[j].Keyword] || b.stmts[j].Keyword == "return" {
				break
			}
			lines, strongs, first, last = lines+1, strongs+st, min(first, j), max(last, j)
		}
	}
	f := finding{kind: CustomOp, confidence: "medium"}
	switch {
	case lines >= chainLines && strongs >= 2:
		f.evidence = fmt.Sprintf("lines %d to %d are %d small tensor operations in a row", b.number(first), b.number(last), lines)
		if lines > chainLines && strongs >= chainLines && (sc == PerLayer || sc == PerKernel) {
			f.confidence = "high"
		}
	case strong+weak >= chainLines && strong >= 2:
		f.evidence = fmt.Sprintf("%d small tensor operations on one line", strong+weak)
	default:
		return nil
	}
	return []finding{f}
}

// number is the line number of a statement.
func (b *body) number(i int) int { return b.fn.Lines[b.stmts[i].First].Number }

// overs are what a statement's loops go over, without what only counts or pairs.
func overs(s *stmt) []string {
	var all []string
	for _, l := range s.Loops {
		all = append(all, collections(l.Over)...)
	}
	return all
}

// wrappers are functions that go over their argument.
var wrappers = set("enumerate zip range len reversed sorted list tuple iter set")

// collections are what is gone over: of "enumerate(zip(a, b.items()))" a and b.
func collections(over string) []string {
	over = strings.TrimSpace(over)
	if open := strings.IndexByte(over, '('); open > 0 && strings.HasSuffix(over, ")") && wrappers[over[:open]] {
		var all []string
		for _, arg := range splitArgs(over[open+1 : len(over)-1]) {
			all = append(all, collections(arg)...)
		}
		return all
	}
	for _, suffix := range []string{".items()", ".keys()", ".values()", ".copy()"} {
		over = strings.TrimSuffix(over, suffix)
	}
	if over == "" || over[0] >= '0' && over[0] <= '9' || over[0] == '(' || over[0] == '[' || over[0] == '\'' || over[0] == '"' {
		return nil
	}
	return []string{over}
}

// splitArgs divides a text at the commas outside of brackets.
func splitArgs(text string) []string {
	var all []string
	depth, start := 0, 0
	for i, c := range []byte(text) {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				all = append(all, text[start:i])
				start = i + 1
			}
		}
	}
	return append(all, text[start:])
}

// redundant finds another loop over what statement i goes over.
func (b *body) redundant(i int) []finding {
	s := &b.stmts[i]
	for _, over := range overs(s) {
		for j := range b.stmts {
			o := &b.stmts[j]
			if j == i || len(o.Loops) == 0 || o.hits == 0 || !slices.Contains(overs(o), over) {
				continue
			}
			if b.inside(i, j) || b.inside(j, i) || b.exclusive(min(i, j), max(i, j)) || b.changed(over, min(i, j), max(i, j)) {
				continue
			}
			if !many(b, i) && !many(b, j) {
				continue
			}
			f := finding{kind: RedundantIter, confidence: "high", evidence: fmt.Sprintf("line %d goes over %s, too", b.number(j), short(over))}
			if j > i { // the first walk is needed
				f.confidence, f.also = "low", true
			}
			return []finding{f}
		}
	}
	return nil
}

// many is whether a loop has more than a few items, as far as hits tell.
func many(b *body, i int) bool {
	if b.stmts[i].Comprehension {
		return true
	}
	n := b.iterations(i)
	return n < 0 || n >= 3
}

// exclusive is whether two statements are in different branches of one if.
func (b *body) exclusive(i, j int) bool {
	for x := i; x >= 0; x = b.stmts[x].parent {
		for y := j; y >= 0; y = b.stmts[y].parent {
			if b.stmts[x].parent != b.stmts[y].parent || x == y {
				continue
			}
			k := b.stmts[y].Keyword
			return k == "elif" || k == "else" || k == "except"
		}
	}
	return false
}

// changed is whether a path is assigned between two statements.
func (b *body) changed(path string, i, j int) bool {
	root, _ := splitRoot(path)
	for x := i + 1; x < j; x++ {
		for _, target := range b.stmts[x].Targets {
			if target == path || target == root || strings.HasPrefix(path, target+".") {
				return true
			}
		}
	}
	return false
}

// dead finds that what statement i makes is hardly read.
func (b *body) dead(i int) []finding {
	s := &b.stmts[i]
	names := b.makes(i)
	if len(names) == 0 || s.hits == 0 {
		return nil
	}
	if reads(s, names) && s.Targets != nil {
		return nil // it adds to what it had
	}
	made := s.hits
	if s.Targets == nil { // a container that is filled is read after that: once each time it is made
		made = b.timesMade(names[0])
	}
	used, line, tested := int64(0), 0, false
	for j := range b.stmts {
		o := &b.stmts[j]
		if j == i || !reads(o, names) || j < i && (s.loop < 0 || !b.inside(j, s.loop)) {
			continue
		}
		if b.stmts[j].Indent < 0 || insideDef(b, j) {
			return nil // read by a function inside: no telling how often
		}
		if b.onlyFills(j, names) {
			continue
		}
		if b.guards(j, names) { // asked whether it is needed: the branch says how often it was
			tested = true
			continue
		}
		if o.hits > used {
			used, line = o.hits, b.number(j)
		} else if line == 0 {
			line = b.number(j)
		}
	}
	name := strings.Join(names, ", ")
	switch {
	case line == 0 && b.complete(): // the source may be an extract, or the call be made for its effect
		return []finding{{kind: DeadWork, confidence: "low", also: true, evidence: fmt.Sprintf("nothing in the function reads %s", short(name))}}
	case line > 0 && float64(used) <= rarely*float64(made):
		f := finding{kind: DeadWork, confidence: "high", evidence: fmt.Sprintf("%s is made %d times, and read at most %d times (line %d)", short(name), made, used, line)}
		if tested {
			f.confidence, f.evidence = "medium", fmt.Sprintf("%s is made and tested %d times, and needed at most %d times (line %d)", short(name), made, used, line)
		}
		return []finding{f}
	}
	return nil
}

// guards is whether statement j is a branch, rarely gone into, that tests one of the
// names and in which it is read, too.
func (b *body) guards(j int, names []string) bool {
	o := &b.stmts[j]
	if o.Keyword != "if" && o.Keyword != "elif" {
		return false
	}
	within := false
	for k := range b.stmts {
		if k == j || !b.inside(k, j) {
			continue
		}
		if float64(b.stmts[k].hits) > rarely*float64(o.hits) {
			return false
		}
		within = within || reads(&b.stmts[k], names)
	}
	return within
}

// makes are the local names that a statement gives a value that took work, or the
// container that it fills.
func (b *body) makes(i int) []string {
	s := &b.stmts[i]
	if s.Keyword != "" || s.hits == 0 {
		return nil
	}
	if len(s.Targets) == 0 {
		if len(s.Calls) > 0 && fills[s.Calls[0].Name()] {
			if r := s.Calls[0].Receiver(); r != "" && !strings.ContainsAny(r, ".[(") {
				if b.timesMade(r) > 0 {
					return []string{r}
				}
			}
		}
		return nil
	}
	if len(s.Calls) == 0 && !s.Comprehension && !s.Display && len(s.Indexes) == 0 && !s.Formatted {
		return nil
	}
	for _, name := range s.Targets {
		if strings.ContainsAny(name, ".[") || strings.HasPrefix(name, "_") || slices.Contains(s.Operators, ":=") {
			return nil
		}
	}
	return s.Targets
}

var fills = set("append extend add update insert")

// timesMade is how often the function makes a container of that name, 0 where it does not.
func (b *body) timesMade(name string) int64 {
	made := int64(0)
	for i := range b.stmts {
		if slices.Contains(b.stmts[i].Targets, name) {
			made = max(made, b.stmts[i].hits)
		}
	}
	return made
}

// onlyFills is whether a statement only puts more into names.
func (b *body) onlyFills(j int, names []string) bool {
	s := &b.stmts[j]
	return len(s.Targets) == 0 && len(s.Calls) > 0 && fills[s.Calls[0].Name()] && slices.Contains(names, s.Calls[0].Receiver()) && occurrences(s.Names, names) == 1
}

func occurrences(all, names []string) int {
	n := 0
	for _, x := range all {
		if slices.Contains(names, x) {
			n++
		}
	}
	return n
}

func reads(s *stmt, names []string) bool {
	return slices.ContainsFunc(s.Names, func(n string) bool { return slices.Contains(names, n) })
}

func insideDef(b *body, j int) bool {
	for p := b.stmts[j].parent; p >= 0; p = b.stmts[p].parent {
		if b.stmts[p].Keyword == "def" && b.stmts[p].parent >= 0 {
			return true
		}
	}
	return b.stmts[j].Keyword == "def" && b.stmts[j].parent >= 0
}

// complete is whether the function's end is there: it returns, or its last statement ran
// no oftener than the function was entered.
func (b *body) complete() bool {
	n := len(b.stmts)
	return n > 1 && (b.stmts[n-1].Keyword == "return" || b.stmts[n-1].Keyword == "yield")
}

// unrepeatable are words of calls whose answer differs from one time to the next.
var unrepeatable = set("iter pop popleft next get_nowait read recv recvmsg readline time perf_counter monotonic random rand randn choice append extend add update insert remove send put push acquire release wait step sample write print log debug info warning error sleep item run forward execute launch")

// hoistable finds that nothing a statement in a loop reads changes in it.
func (b *body) hoistable(i int, sc Scope) []finding {
	s := &b.stmts[i]
	if s.Keyword != "" && s.Keyword != "if" || len(s.Calls) == 0 && !longChain(s) {
		return nil
	}
	for _, c := range s.Calls {
		for _, w := range lastWords(c.Path) {
			if unrepeatable[w] {
				return nil
			}
		}
	}
	if s.loop >= 0 && s.Keyword == "" && len(s.Targets) > 0 && b.stmts[s.loop].Keyword == "for" && b.invariant(i) {
		loop := &b.stmts[s.loop]
		if n := b.iterations(s.loop); (n < 0 || n >= 2) && 2*s.hits >= loop.hits {
			return []finding{{kind: Hoist, confidence: "high", evidence: fmt.Sprintf("nothing that it reads changes in the loop of line %d", b.number(s.loop))}}
		}
	}
	if us := s.usPerHit(); sc == PerLayer && s.loop < 0 && len(s.Targets) > 0 && (us < 0 || us > helperUs) && stepWide(s) {
		return []finding{{kind: Hoist, confidence: "medium", evidence: "runs once per layer, and reads only what is the same for the whole step"}}
	}
	return nil
}

func longChain(s *stmt) bool {
	return slices.ContainsFunc(s.Attributes, func(p string) bool { return strings.Count(p, ".") >= 3 })
}

// invariant is whether no name that a statement reads is set within its loop.
func (b *body) invariant(i int) bool {
	loop := b.stmts[i].loop
	if len(b.stmts[i].Targets) == 1 && slices.Contains(b.stmts[i].Names, b.stmts[i].Targets[0]) {
		return false
	}
	set := map[string]bool{}
	for j := loop; j < len(b.stmts) && (j == loop || b.inside(j, loop)); j++ {
		s := &b.stmts[j]
		for _, l := range s.Loops {
			for _, name := range l.Targets {
				set[name] = set[name] || j == loop || j != i
			}
		}
		for _, target := range s.Targets {
			root, _ := splitRoot(target)
			if j != i {
				set[target], set[root] = true, set[root] || root != "self"
			}
		}
		for _, c := range s.Calls { // what changes its receiver
			if r := c.Receiver(); j != i && r != "" && unrepeatable[c.Name()] {
				root, _ := splitRoot(r)
				set[root] = set[root] || root != "self"
			}
		}
	}
	for _, name := range b.stmts[i].Names {
		if set[name] {
			return false
		}
	}
	for _, path := range b.stmts[i].Attributes {
		for target := range set {
			if strings.HasPrefix(target, "self.") && strings.HasPrefix(path, strings.TrimSuffix(target, "[]")) {
				return false
			}
		}
	}
	return true
}

// stepWords are names of what all layers of a step share.
var stepWords = set("metadata meta batch positions position seq seqlens lens lengths seqlen mask config cfg rope rotary tables table cu kwargs args max num offsets offset indptr indices slots slot sizes size cos sin params mapping world rank tp")

// stepWide is whether a statement reads only what all layers of a step share: names
// of the step's metadata, the object's own configuration, or nothing but constants.
func stepWide(s *stmt) bool {
	shared := false
	local := map[string]bool{"self": true, "torch": true, "math": true, "np": true, "F": true, "os": true}
	for _, l := range s.Loops {
		for _, name := range l.Targets {
			local[name] = true
		}
	}
	for _, c := range s.Calls {
		root, rest := splitRoot(c.Path)
		local[root] = local[root] || rest == "" // functions are no data
		shared = shared || strings.HasPrefix(c.Path, "os.")
	}
	for _, name := range s.Names {
		switch {
		case slices.ContainsFunc(words(name), func(w string) bool { return stepWords[w] }) && !local[name]:
			shared = true
		case !local[name]:
			return false
		}
	}
	for _, path := range s.Attributes {
		for _, w := range words(path) {
			if w == "layer" || w == "weight" || w == "hidden" || w == "idx" && strings.Contains(path, "layer") {
				return false
			}
		}
	}
	return shared
}

// loops finds that a statement is a loop in Python over many items.
func (b *body) loops(i int) []finding {
	s := &b.stmts[i]
	switch {
	case s.Keyword == "for" || s.Keyword == "while":
		n := b.iterations(i)
		if n < someItems {
			return nil
		}
		us := b.usPerIteration(i)
		if us > plainUs {
			return nil
		}
		f := finding{kind: PyLoop, confidence: "medium", evidence: fmt.Sprintf("%.0f iterations each time, %s each", n, micros(us))}
		if n > manyItems {
			f.confidence = "high"
		}
		return []finding{f}
	case s.Comprehension:
		us := s.usPerHit()
		if us >= 0 && us < 3 {
			return nil
		}
		f := finding{kind: PyLoop, confidence: "medium", evidence: "a comprehension"}
		if us > 0 {
			f.evidence += fmt.Sprintf(" that takes %s each time", micros(us))
		}
		return []finding{f}
	}
	return nil
}

// usPerIteration is the time of a loop's own statements for each iteration.
func (b *body) usPerIteration(i int) float64 {
	ns, hits := b.stmts[i].ns, int64(1)
	for j := i + 1; j < len(b.stmts) && b.inside(j, i); j++ {
		ns += b.stmts[j].ns
		if b.stmts[j].parent == i {
			hits = max(hits, b.stmts[j].hits)
		}
	}
	return float64(ns) / 1e3 / float64(max(hits, 1))
}

// plain classifies by what is left: containers, helpers, arithmetic.
func (b *body) plain(i int, other []pylex.Call, often bool) []finding {
	s := &b.stmts[i]
	if s.Keyword == "for" || s.Keyword == "while" {
		return nil // what they cost, loops says
	}
	var found []finding
	us := s.usPerHit()
	for _, c := range other {
		switch b.kindOf(c.Receiver(), i) {
		case numpyKind, cpuKind, strKind, numberKind:
			continue
		}
		if f := b.helper(&c, us); f.kind != "" {
			found = append(found, f)
		}
	}
	if f := b.container(i, us, len(other) > 0); f.kind != "" {
		found = append(found, f)
	}
	if often && s.Keyword != "return" && len(s.Calls) == 0 && len(found) == 0 && len(s.Attributes) > 0 && us > propertyUs && us < 20 && !slices.ContainsFunc(s.Operators, arithmetic) {
		found = append(found, b.property(s, us))
	}
	return found
}

func arithmetic(op string) bool {
	switch op {
	case "+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^", "+=", "-=", "*=", "/=", "//=":
		return true
	}
	return false
}

// boundWords are names of objects that live in C++ behind a binding.
var boundWords = set("impl bindings binding cpp pybind nanobind ext")

// requestWords are names of TensorRT-LLM's requests, which live there, too.
var requestWords = set("request req requests reqs")

// property is the finding for an attribute that takes longer than an attribute.
func (b *body) property(s *stmt, us float64) finding {
	f := finding{kind: FuncCall, confidence: "low", evidence: fmt.Sprintf("%s is a property or crosses into C++: %s per hit", short(s.Attributes[0]), micros(us))}
	for _, p := range s.Attributes {
		for _, w := range words(p) {
			if boundWords[w] || requestWords[w] {
				f.sub, f.confidence = "boundary", "medium"
			}
		}
	}
	return f
}

// enumWords end the names of enumerations.
var enumWords = set("state status type mode reason kind phase stage enum flag policy level strategy")

// torchModules are names whose functions are tensor operations.
var torchModules = set("torch F functional nn ops triton flashinfer")

// helper is the finding for a call that no indicator knows.
func (b *body) helper(c *pylex.Call, us float64) finding {
	parts := lastWords(c.Path)
	name := c.Name()
	root, _ := splitRoot(c.Path)
	switch {
	case len(parts) == 0 || torchModules[root] || strongOps[name] || weakOps[name]:
		return finding{}
	case name[0] >= 'A' && name[0] <= 'Z' && c.Args == 1 && len(c.Keys) == 0 && enumWords[parts[len(parts)-1]] && us < 8:
		return finding{kind: Container, sub: "enum", confidence: "medium", evidence: fmt.Sprintf("%s makes a member of an enumeration from its value", short(c.Path)), anyway: true}
	case slices.ContainsFunc(words(c.Receiver()), func(w string) bool { return boundWords[w] }) && us < 8:
		return finding{kind: FuncCall, sub: "boundary", confidence: "medium", evidence: short(c.Path) + " crosses into C++", anyway: true}
	case name[0] >= 'A' && name[0] <= 'Z':
		return finding{}
	case us > helperUs && us <= 8 && slices.ContainsFunc(lastWords(c.Receiver()), func(w string) bool { return requestWords[w] }):
		return finding{kind: FuncCall, sub: "boundary", confidence: "medium", evidence: fmt.Sprintf("%s crosses into C++: %s per hit", short(c.Path), micros(us))}
	case us >= 0 && us <= helperUs:
		f := finding{kind: FuncCall, confidence: "medium", evidence: fmt.Sprintf("%s does next to nothing: %s per hit", short(c.Path), micros(us)), anyway: getters[parts[0]] && c.Args <= 1}
		if slices.ContainsFunc(lastWords(c.Receiver()), func(w string) bool { return requestWords[w] }) {
			f.sub = "boundary"
		}
		return f
	case us <= 8 && getters[parts[0]]:
		return finding{kind: FuncCall, confidence: "medium", evidence: short(c.Path) + " asks for something that is often known", anyway: c.Args == 0}
	}
	return finding{}
}

var getters = set("get is has num should can use uses need needs enabled")

// container is the finding for look-ups without a call.
func (b *body) container(i int, us float64, calls bool) finding {
	s := &b.stmts[i]
	conf := Confidence("medium")
	if calls {
		conf = "low"
	}
	switch {
	case us > 8:
		return finding{}
	case s.Formatted && (len(s.Indexes) > 0 || slices.ContainsFunc(s.Calls, func(c pylex.Call) bool { return c.Name() == "get" })):
		return finding{kind: Container, confidence: conf, evidence: "formats a string for a look-up: a tuple as key is ten times faster", anyway: true}
	case slices.Contains(s.Operators, "in"):
		return finding{kind: Container, confidence: conf, evidence: "looks for a member", anyway: us > 1}
	case len(s.Indexes) > 0 && slices.ContainsFunc(s.Indexes, func(x pylex.Index) bool { return b.lookup(x, i) }):
		return finding{kind: Container, confidence: conf, evidence: "looks up an item"}
	case longChain(s):
		return finding{kind: Container, confidence: conf, evidence: "follows a chain of attributes", anyway: us > 1}
	case s.Display && len(s.Targets) > 0:
		return finding{kind: Container, confidence: conf, evidence: "makes a container"}
	case s.Formatted && len(s.Targets) > 0:
		return finding{kind: Container, confidence: "low", evidence: "formats a string"}
	}
	return finding{}
}

// lookup is whether an index is one of a dict or a list.
func (b *body) lookup(x pylex.Index, i int) bool {
	if strings.ContainsAny(x.Text, ":,<>&~") {
		return false
	}
	switch b.kindOf(x.Path, i) {
	case tensorKind, cpuKind, numpyKind:
		return false
	}
	return true
}
