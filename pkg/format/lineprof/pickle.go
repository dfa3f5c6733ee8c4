package lineprof

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Limits of the machine. A file of 100,000 profiled lines has 0.4 million values.
const (
	maxPickle = 64 << 20 // bytes of a file
	maxValues = 6 << 20  // values that one file makes
	maxMarks  = 1000     // open marks: nesting of containers under construction
)

// Values of the machine are nil, int64, float64, string, *list, *dict, tuple, mark,
// class and *record.
type (
	tuple  []any
	list   struct{ items []any }
	dict   struct{ items []any } // key, value, key, value, …
	mark   struct{}
	class  struct{} // LineStats, the only possible class
	record struct{ state any }
)

// machine runs the opcodes of a pickle that build plain values. It cannot call
// anything: an opcode that is not in opcodes ends it. An opcode that cannot go on
// panics with unreadable, which unpickle returns as its error.
type machine struct {
	in     []byte
	at     int
	stack  []any
	memo   map[int]any
	marks  int
	values int
}

// unpickle returns the one value of a pickle.
func unpickle(in []byte) (v any, err error) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case unreadable:
			v, err = nil, why.error
		default:
			panic(why)
		}
	}()
	m := &machine{in: in, memo: map[int]any{}}
	for {
		op := m.bytes(1)[0]
		run := opcodes[op]
		switch {
		case op == '.' && m.at < len(in):
			fail("something follows the pickle")
		case op == '.' && len(m.stack) == 1:
			return m.stack[0], nil
		case op == '.':
			fail("%d values at the end of the pickle", len(m.stack))
		case run == nil:
			fail("opcode %#02x is not of a line_profiler file: it could run code, or is damage", op)
		}
		run(m)
		if m.values > maxValues {
			fail("more than %d values", maxValues)
		}
	}
}

// unreadable is an error in a pickle.
type unreadable struct{ error }

// fail ends the machine.
func fail(format string, args ...any) { panic(unreadable{fmt.Errorf(format, args...)}) }

// must ends the machine unless a condition holds.
func must(holds bool, err error) {
	if !holds {
		panic(unreadable{err})
	}
}

var (
	errCut   = errors.New("the pickle is cut short")
	errShape = errors.New("the pickle does not fit together")
)

// opcodes are those that line_profiler's files use, of any protocol, with their names
// in Python's pickletools.
var opcodes = map[byte]func(*machine){
	0x80: skip(1), 0x95: skip(8), // PROTO, FRAME: redundant
	'N': constant(nil), 0x88: constant(int64(1)), 0x89: constant(int64(0)), // NONE, NEWTRUE, NEWFALSE
	'K': integer(1, false), 'M': integer(2, false), 'J': integer(4, true), // BININT1, BININT2, BININT
	0x8a: (*machine).long, 'G': (*machine).float, // LONG1, BINFLOAT
	'X': text(4), 0x8c: text(1), 0x8d: text(8), 'U': text(1), 'T': text(4), // …BINUNICODE…, …BINSTRING
	'(': (*machine).mark,                                                                                 // MARK
	')': constant(tuple(nil)), 't': tupleOf(above), 0x85: tupleOf(1), 0x86: tupleOf(2), 0x87: tupleOf(3), // …TUPLE…
	']': func(m *machine) { m.push(&list{}) }, 'a': extend(1, false), 'e': extend(above, false), // EMPTY_LIST, APPEND, APPENDS
	'}': func(m *machine) { m.push(&dict{}) }, 's': extend(2, true), 'u': extend(above, true), // EMPTY_DICT, SETITEM, SETITEMS
	0x94: store(0), 'q': store(1), 'r': store(4), 'h': fetch(1), 'j': fetch(4), // MEMOIZE, BINPUT, LONG_BINPUT, BINGET, LONG_BINGET
	'c': (*machine).global, 0x93: (*machine).stackGlobal, 0x81: (*machine).newObject, 'b': (*machine).build, // GLOBAL, STACK_GLOBAL, NEWOBJ, BUILD
}

// bytes returns the next n bytes of the file, without a copy.
func (m *machine) bytes(n int) []byte {
	must(n <= len(m.in)-m.at, errCut)
	m.at += n
	return m.in[m.at-n : m.at]
}

// littleEndian decodes an integer of up to 8 bytes.
func littleEndian(b []byte, signed bool) int64 {
	var wide [8]byte // b at the end, where the sign of an int64 is
	copy(wide[8-len(b):], b)
	u, unused := binary.LittleEndian.Uint64(wide[:]), 64-8*len(b)
	if signed {
		return int64(u) >> unused
	}
	return int64(u >> unused)
}

// length reads an n-byte number that is a length or an index. One that does not fit
// into 31 bits exceeds the rest of any file that is read.
func (m *machine) length(n int) int {
	v := littleEndian(m.bytes(n), false)
	must(v >= 0 && v <= math.MaxInt32, errCut)
	return int(v)
}

// push pushes a value.
func (m *machine) push(v any) {
	m.values++
	m.stack = append(m.stack, v)
}

// top returns the top of the stack without popping it.
func (m *machine) top() any {
	must(len(m.stack) > 0, errShape)
	return m.stack[len(m.stack)-1]
}

// above, instead of a number, stands for the values above the last mark.
const above = -1

// pop pops n values, or those above the last mark and the mark itself. They are valid
// until the next push.
func (m *machine) pop(n int) []any {
	for i := len(m.stack) - 1; i >= 0; i-- {
		_, is := m.stack[i].(mark)
		must(!is || n == above, errShape)
		if !is && n != len(m.stack)-i {
			continue
		}
		top := m.stack[i:]
		m.stack = m.stack[:i]
		if is {
			m.marks--
			top = top[1:]
		}
		return top
	}
	panic(unreadable{errShape})
}

// skip skips n bytes.
func skip(n int) func(*machine) { return func(m *machine) { m.bytes(n) } }

// constant pushes a constant.
func constant(v any) func(*machine) { return func(m *machine) { m.push(v) } }

// integer pushes an integer of n bytes.
func integer(n int, signed bool) func(*machine) {
	return func(m *machine) { m.push(littleEndian(m.bytes(n), signed)) }
}

// long pushes an integer preceded by its length, of up to 8 bytes, which hold 292 years
// in ns.
func (m *machine) long() {
	n := m.length(1)
	if n > 8 {
		fail("an integer of more than 8 bytes")
	}
	m.push(littleEndian(m.bytes(n), true))
}

// float pushes a floating point number, the only big-endian value of pickles.
func (m *machine) float() {
	m.push(math.Float64frombits(binary.BigEndian.Uint64(m.bytes(8))))
}

// text pushes a string preceded by its length of n bytes.
func text(n int) func(*machine) {
	return func(m *machine) { m.push(string(m.bytes(m.length(n)))) }
}

// mark begins a container of any length.
func (m *machine) mark() {
	if m.marks++; m.marks > maxMarks {
		fail("nested more than %d deep", maxMarks)
	}
	m.push(mark{})
}

// tupleOf makes a tuple of n values.
func tupleOf(n int) func(*machine) {
	return func(m *machine) { m.push(append(tuple(nil), m.pop(n)...)) }
}

// extend adds values to the list below them, or pairs to the dict.
func extend(n int, pairs bool) func(*machine) {
	return func(m *machine) {
		items := m.pop(n)
		m.values += len(items)
		switch below := m.top().(type) {
		case *list:
			must(!pairs, errShape)
			below.items = append(below.items, items...)
		case *dict:
			must(pairs && len(items)%2 == 0, errShape)
			below.items = append(below.items, items...)
		default:
			must(false, errShape)
		}
	}
}

// store stores the top value in the memo, under the number in the next n bytes, or
// under the next free number if n is 0.
func store(n int) func(*machine) {
	return func(m *machine) {
		number := len(m.memo)
		if n > 0 {
			number = m.length(n)
		}
		_, is := m.top().(mark)
		must(!is, errShape)
		m.values++
		m.memo[number] = m.top()
	}
}

// fetch pushes a value from the memo.
func fetch(n int) func(*machine) {
	return func(m *machine) {
		v, known := m.memo[m.length(n)]
		must(known, errShape)
		m.push(v)
	}
}

// global pushes the class named by two lines.
func (m *machine) global() {
	lines := strings.SplitN(string(m.in[m.at:min(len(m.in), m.at+1000)]), "\n", 3)
	must(len(lines) == 3, errCut)
	m.at += len(lines[0]) + len(lines[1]) + 2
	m.class(lines[0], lines[1])
}

// stackGlobal pushes the class named by two strings.
func (m *machine) stackGlobal() {
	names := m.pop(2)
	module, ok := names[0].(string)
	name, ok2 := names[1].(string)
	must(ok && ok2, errShape)
	m.class(module, name)
}

// class pushes LineStats, the only class allowed.
func (m *machine) class(module, name string) {
	if name != "LineStats" || !strings.HasSuffix(module, "line_profiler") {
		fail("it names %.40q of %.40q, where a line_profiler file has its LineStats only", name, module)
	}
	m.push(class{})
}

// newObject makes an empty record of a class.
func (m *machine) newObject() {
	v := m.pop(2)
	_, is := v[0].(class)
	args, tuples := v[1].(tuple)
	must(is && tuples && len(args) == 0, errShape)
	m.push(&record{})
}

// build sets the state of a record, once.
func (m *machine) build() {
	v := m.pop(2)
	r, is := v[0].(*record)
	must(is && r.state == nil, errShape)
	r.state = v[1]
	m.push(r)
}
