package lineprof

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Limits of the machine. A file of 100,000 profiled lines holds 0.4 million values.
const (
	maxPickle = 64 << 20 // bytes of a file
	maxValues = 6 << 20  // values made by one file
	maxMarks  = 1000     // marks open at once: depth of containers under construction
)

// Values of the machine are nil, int64, float64, string, *list, *dict, tuple, mark,
// class and *record.
type (
	tuple  []any
	list   struct{ items []any }
	dict   struct{ items []any } // key, value, key, value, …
	mark   struct{}
	class  struct{} // LineStats, the one that there can be
	record struct{ state any }
)

// machine runs the opcodes of a pickle that build plain values. It has none that call
// anything: what is not in opcodes ends it.
type machine struct {
	in     []byte
	at     int
	stack  []any
	memo   map[int]any
	marks  int
	values int
}

// unpickle reads the one value of a pickle.
func unpickle(in []byte) (v any, err error) {
	m := &machine{in: in, memo: map[int]any{}}
	for {
		if m.at >= len(m.in) {
			return nil, errCut
		}
		op := m.in[m.at]
		m.at++
		run := opcodes[op]
		switch {
		case op == '.' && len(m.stack) == 1:
			return m.stack[0], nil
		case op == '.':
			return nil, fmt.Errorf("%d values at the end of the pickle", len(m.stack))
		case run == nil:
			return nil, fmt.Errorf("opcode %#02x is not of a line_profiler file: it could run code, or is damage", op)
		}
		if err := run(m); err != nil {
			return nil, err
		}
		if m.values > maxValues {
			return nil, fmt.Errorf("more than %d values", maxValues)
		}
	}
}

var (
	errCut   = errors.New("the pickle is cut short")
	errShape = errors.New("the pickle does not fit together")
)

// opcodes are those that files of line_profiler have, by any protocol. Their names are
// those of Python's pickletools.
var opcodes = map[byte]func(*machine) error{
	0x80: skip(1), 0x95: skip(8), // PROTO, FRAME: the rest tells as much
	'N': constant(nil), 0x88: constant(int64(1)), 0x89: constant(int64(0)), // NONE, NEWTRUE, NEWFALSE
	'K': integer(1, false), 'M': integer(2, false), 'J': integer(4, true), // BININT1, BININT2, BININT
	0x8a: (*machine).long, 'G': (*machine).float, // LONG1, BINFLOAT
	'X': text(4), 0x8c: text(1), 0x8d: text(8), 'U': text(1), 'T': text(4), // …BINUNICODE…, …BINSTRING
	'(': (*machine).mark,                                                                                 // MARK
	')': constant(tuple(nil)), 't': tupleOf(above), 0x85: tupleOf(1), 0x86: tupleOf(2), 0x87: tupleOf(3), // …TUPLE…
	']': func(m *machine) error { return m.push(&list{}) }, 'a': extend(1, false), 'e': extend(above, false), // EMPTY_LIST, APPEND, APPENDS
	'}': func(m *machine) error { return m.push(&dict{}) }, 's': extend(2, true), 'u': extend(above, true), // EMPTY_DICT, SETITEM, SETITEMS
	0x94: store(0), 'q': store(1), 'r': store(4), 'h': fetch(1), 'j': fetch(4), // MEMOIZE, BINPUT, LONG_BINPUT, BINGET, LONG_BINGET
	'c': (*machine).global, 0x93: (*machine).stackGlobal, 0x81: (*machine).newObject, 'b': (*machine).build, // GLOBAL, STACK_GLOBAL, NEWOBJ, BUILD
}

// bytes returns the next n bytes of the file, which stay the file's.
func (m *machine) bytes(n int) ([]byte, error) {
	if n < 0 || n > len(m.in)-m.at {
		return nil, errCut
	}
	m.at += n
	return m.in[m.at-n : m.at], nil
}

// littleEndian is the number that up to 8 bytes are.
func littleEndian(b []byte, signed bool) int64 {
	var wide [8]byte // its last bytes, where the sign of an int64 is
	copy(wide[8-len(b):], b)
	u, unused := binary.LittleEndian.Uint64(wide[:]), 64-8*len(b)
	if signed {
		return int64(u) >> unused
	}
	return int64(u >> unused)
}

// length reads a number of n bytes that says how many bytes, or which value, comes. What
// does not fit 31 bits is more than any file that is read has left.
func (m *machine) length(n int) (int, error) {
	b, err := m.bytes(n)
	if err != nil {
		return 0, err
	}
	v := littleEndian(b, false)
	if v < 0 || v > math.MaxInt32 {
		return 0, errCut
	}
	return int(v), nil
}

// push puts a value on the stack. It never fails: opcodes end with it.
func (m *machine) push(v any) error {
	m.values++
	m.stack = append(m.stack, v)
	return nil
}

// above, in place of a number, stands for the values above the last mark.
const above = -1

// pop takes n values off the stack, or those above the last mark and the mark. They are
// valid until the next push.
func (m *machine) pop(n int) ([]any, error) {
	for i := len(m.stack) - 1; i >= 0 && n != 0; i-- {
		_, is := m.stack[i].(mark)
		switch {
		case is && n != above:
			return nil, errShape
		case is, n == len(m.stack)-i:
			top := m.stack[i:]
			m.stack = m.stack[:i]
			if is {
				m.marks--
				top = top[1:]
			}
			return top, nil
		}
	}
	return nil, errShape
}

func skip(n int) func(*machine) error {
	return func(m *machine) error { _, err := m.bytes(n); return err }
}

func constant(v any) func(*machine) error {
	return func(m *machine) error { return m.push(v) }
}

// integer pushes an integer of n bytes.
func integer(n int, signed bool) func(*machine) error {
	return func(m *machine) error {
		b, err := m.bytes(n)
		if err != nil {
			return err
		}
		return m.push(littleEndian(b, signed))
	}
}

// long pushes an integer after its length, of up to 8 bytes, which hold 292 years in ns.
func (m *machine) long() error {
	n, err := m.length(1)
	if err != nil {
		return err
	}
	if n > 8 {
		return errors.New("an integer of more than 8 bytes")
	}
	return integer(n, true)(m)
}

func (m *machine) float() error {
	b, err := m.bytes(8)
	if err != nil {
		return err
	}
	return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
}

// text pushes a string after its length of n bytes.
func text(n int) func(*machine) error {
	return func(m *machine) error {
		size, err := m.length(n)
		if err != nil {
			return err
		}
		b, err := m.bytes(size)
		if err != nil {
			return err
		}
		return m.push(string(b))
	}
}

// mark begins a container of any length.
func (m *machine) mark() error {
	if m.marks++; m.marks > maxMarks {
		return fmt.Errorf("nested more than %d deep", maxMarks)
	}
	return m.push(mark{})
}

func tupleOf(n int) func(*machine) error {
	return func(m *machine) error {
		items, err := m.pop(n)
		if err != nil {
			return err
		}
		return m.push(append(tuple(nil), items...))
	}
}

// extend adds values to the list below them, or pairs to the dict.
func extend(n int, pairs bool) func(*machine) error {
	return func(m *machine) error {
		items, err := m.pop(n)
		if err != nil || len(m.stack) == 0 {
			return errShape
		}
		m.values += len(items)
		switch below := m.stack[len(m.stack)-1].(type) {
		case *list:
			below.items = append(below.items, items...)
			if !pairs {
				return nil
			}
		case *dict:
			below.items = append(below.items, items...)
			if pairs && len(items)%2 == 0 {
				return nil
			}
		}
		return errShape
	}
}

// store keeps the value on top in the memo, by the number in the next n bytes; with none
// it is the next number.
func store(n int) func(*machine) error {
	return func(m *machine) error {
		number, err := m.length(n)
		if n == 0 {
			number = len(m.memo)
		}
		if err != nil || len(m.stack) == 0 {
			return cmp.Or(err, errShape)
		}
		top := m.stack[len(m.stack)-1]
		if _, is := top.(mark); is {
			return errShape
		}
		m.values++
		m.memo[number] = top
		return nil
	}
}

// fetch pushes a value from the memo.
func fetch(n int) func(*machine) error {
	return func(m *machine) error {
		number, err := m.length(n)
		if err != nil {
			return err
		}
		v, known := m.memo[number]
		if !known {
			return errShape
		}
		return m.push(v)
	}
}

// global pushes the class that two lines name.
func (m *machine) global() error {
	lines := strings.SplitN(string(m.in[m.at:min(len(m.in), m.at+1000)]), "\n", 3)
	if len(lines) < 3 {
		return errCut
	}
	m.at += len(lines[0]) + len(lines[1]) + 2
	return m.class(lines[0], lines[1])
}

// stackGlobal pushes the class that two strings name.
func (m *machine) stackGlobal() error {
	names, err := m.pop(2)
	if err != nil {
		return err
	}
	module, ok := names[0].(string)
	name, ok2 := names[1].(string)
	if !ok || !ok2 {
		return errShape
	}
	return m.class(module, name)
}

// class pushes the one class that there can be.
func (m *machine) class(module, name string) error {
	if name != "LineStats" || !strings.HasSuffix(module, "line_profiler") {
		return fmt.Errorf("it names %.40q of %.40q, where a line_profiler file has its LineStats only", name, module)
	}
	return m.push(class{})
}

// newObject makes an empty record of a class.
func (m *machine) newObject() error {
	v, err := m.pop(2)
	if err != nil {
		return err
	}
	_, is := v[0].(class)
	if args, tuples := v[1].(tuple); !is || !tuples || len(args) != 0 {
		return errShape
	}
	return m.push(&record{})
}

// build gives a record its state, once.
func (m *machine) build() error {
	v, err := m.pop(2)
	if err != nil {
		return err
	}
	r, is := v[0].(*record)
	if !is || r.state != nil {
		return errShape
	}
	r.state = v[1]
	return m.push(r)
}
