package lineprof

import (
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
	class  struct{ name string }
	record struct {
		class class
		state any
	}
)

// machine runs the opcodes of a pickle that build plain values. It has none that call
// anything: what is not in [machine.step] ends it.
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
		if op == '.' {
			if len(m.stack) != 1 {
				return nil, fmt.Errorf("%d values at the end of the pickle", len(m.stack))
			}
			return m.stack[0], nil
		}
		if err := m.step(op); err != nil {
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

// step runs one opcode.
func (m *machine) step(op byte) error {
	switch op {
	case 0x80, 0x95: // PROTO, FRAME: the rest tells as much
		_, err := m.bytes(map[byte]int{0x80: 1, 0x95: 8}[op])
		return err
	case 'N':
		return m.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return m.push(int64(0x89 - op))
	case 'K', 'M', 'J', 0x8a, 'G':
		return m.pushNumber(op)
	case 'X', 0x8c, 0x8d, 'U', 'T':
		return m.pushString(op)
	case ')', '(', ']', '}':
		return m.pushEmpty(op)
	case 't', 0x85, 0x86, 0x87:
		return m.pushTuple(op)
	case 'a', 'e', 's', 'u':
		return m.extend(op)
	case 0x94, 'q', 'r', 'h', 'j':
		return m.remember(op)
	case 'c', 0x93:
		return m.pushClass(op)
	case 0x81, 'b':
		return m.build(op)
	}
	return fmt.Errorf("opcode %#02x is not of a line_profiler file: it could run code, or is damage", op)
}

// bytes returns the next n bytes of the file, which stay the file's.
func (m *machine) bytes(n int) ([]byte, error) {
	if n < 0 || n > len(m.in)-m.at {
		return nil, errCut
	}
	m.at += n
	return m.in[m.at-n : m.at], nil
}

// uint reads an unsigned number of n bytes.
func (m *machine) uint(n int) (int, error) {
	b, err := m.bytes(n)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], b)
	u := binary.LittleEndian.Uint64(wide[:])
	if u > math.MaxInt32 {
		return 0, errCut // more than any file that is read has left
	}
	return int(u), nil
}

func (m *machine) push(v any) error {
	m.values++
	m.stack = append(m.stack, v)
	return nil
}

// pop takes n values off the stack, which are valid until the next push.
func (m *machine) pop(n int) ([]any, error) {
	if n > len(m.stack) {
		return nil, errShape
	}
	top := m.stack[len(m.stack)-n:]
	m.stack = m.stack[:len(m.stack)-n]
	for _, v := range top {
		if _, is := v.(mark); is {
			return nil, errShape
		}
	}
	return top, nil
}

// popMark takes the values above the last mark, and the mark.
func (m *machine) popMark() ([]any, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, is := m.stack[i].(mark); is {
			items := m.stack[i+1:]
			m.stack = m.stack[:i]
			m.marks--
			return items, nil
		}
	}
	return nil, errShape
}

func (m *machine) pushNumber(op byte) error {
	n := map[byte]int{'K': 1, 'M': 2, 'J': 4, 'G': 8}[op]
	if op == 0x8a {
		return m.pushLong()
	}
	b, err := m.bytes(n)
	if err != nil {
		return err
	}
	switch op {
	case 'K':
		return m.push(int64(b[0]))
	case 'M':
		return m.push(int64(binary.LittleEndian.Uint16(b)))
	case 'J':
		return m.push(int64(int32(binary.LittleEndian.Uint32(b))))
	}
	return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
}

// pushLong pushes an integer of up to 8 bytes, which hold 292 years in ns.
func (m *machine) pushLong() error {
	n, err := m.uint(1)
	if err != nil {
		return err
	}
	b, err := m.bytes(n)
	if err != nil {
		return err
	}
	if n > 8 {
		return errors.New("an integer of more than 8 bytes")
	}
	var wide [8]byte // shifted left, so that its sign is where an int64 has it
	copy(wide[8-n:], b)
	return m.push(int64(binary.LittleEndian.Uint64(wide[:])) >> (8 * (8 - n)))
}

func (m *machine) pushString(op byte) error {
	n, err := m.uint(map[byte]int{'X': 4, 0x8c: 1, 0x8d: 8, 'U': 1, 'T': 4}[op])
	if err != nil {
		return err
	}
	b, err := m.bytes(n)
	if err != nil {
		return err
	}
	return m.push(string(b))
}

func (m *machine) pushEmpty(op byte) error {
	switch op {
	case ')':
		return m.push(tuple(nil))
	case ']':
		return m.push(&list{})
	case '}':
		return m.push(&dict{})
	}
	if m.marks++; m.marks > maxMarks {
		return fmt.Errorf("nested more than %d deep", maxMarks)
	}
	return m.push(mark{})
}

func (m *machine) pushTuple(op byte) error {
	var items []any
	var err error
	if op == 't' {
		items, err = m.popMark()
	} else {
		items, err = m.pop(int(op) - 0x84)
	}
	if err != nil {
		return err
	}
	return m.push(append(tuple(nil), items...))
}

// extend adds to the list or dict below: one item, those above a mark, one pair, the
// pairs above a mark.
func (m *machine) extend(op byte) error {
	var items []any
	var err error
	switch op {
	case 'a':
		items, err = m.pop(1)
	case 's':
		items, err = m.pop(2)
	default:
		items, err = m.popMark()
	}
	if err != nil || len(m.stack) == 0 {
		return errShape
	}
	m.values += len(items)
	switch below := m.stack[len(m.stack)-1].(type) {
	case *list:
		if op == 'a' || op == 'e' {
			below.items = append(below.items, items...)
			return nil
		}
	case *dict:
		if (op == 's' || op == 'u') && len(items)%2 == 0 {
			below.items = append(below.items, items...)
			return nil
		}
	}
	return errShape
}

// remember stores the value on top in the memo, or pushes one from there.
func (m *machine) remember(op byte) error {
	n := len(m.memo)
	var err error
	switch op {
	case 'q', 'h':
		n, err = m.uint(1)
	case 'r', 'j':
		n, err = m.uint(4)
	}
	if err != nil {
		return err
	}
	if op == 'h' || op == 'j' {
		v, known := m.memo[n]
		if !known {
			return errShape
		}
		return m.push(v)
	}
	if len(m.stack) == 0 {
		return errShape
	}
	top := m.stack[len(m.stack)-1]
	if _, is := top.(mark); is {
		return errShape
	}
	m.values++
	m.memo[n] = top
	return nil
}

// pushClass pushes the one class that there can be.
func (m *machine) pushClass(op byte) error {
	module, name := "", ""
	if op == 'c' {
		lines := strings.SplitN(string(m.in[m.at:min(len(m.in), m.at+1000)]), "\n", 3)
		if len(lines) < 3 {
			return errCut
		}
		module, name = lines[0], lines[1]
		m.at += len(module) + len(name) + 2
	} else {
		names, err := m.pop(2)
		if err != nil {
			return err
		}
		var ok1, ok2 bool
		module, ok1 = names[0].(string)
		name, ok2 = names[1].(string)
		if !ok1 || !ok2 {
			return errShape
		}
	}
	if name != "LineStats" || !strings.HasSuffix(module, "line_profiler") {
		return fmt.Errorf("it names %.40q of %.40q, where a line_profiler file has its LineStats only", name, module)
	}
	return m.push(class{name})
}

// build makes an empty record of a class (NEWOBJ), or gives it its state (BUILD).
func (m *machine) build(op byte) error {
	v, err := m.pop(2)
	if err != nil {
		return err
	}
	below, top := v[0], v[1]
	if op == 0x81 {
		c, is := below.(class)
		if args, tuples := top.(tuple); !is || !tuples || len(args) != 0 {
			return errShape
		}
		return m.push(&record{class: c})
	}
	r, is := below.(*record)
	if !is || r.state != nil {
		return errShape
	}
	r.state = top
	return m.push(r)
}
