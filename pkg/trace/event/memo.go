package event

// Memo remembers what was found out of the names of a Dict, each once.
type Memo[T any] struct {
	dict  *Dict // of the names that are known
	known []T
	is    []bool
}

// Of returns what find says of the name of row i; it is the same function each time.
func (m *Memo[T]) Of(names *Strings, i int, find func([]byte) T) T {
	if names.Dict == nil || names.Codes[i] < 0 {
		return find(names.Get(i))
	}
	if names.Dict != m.dict {
		n := len(names.Dict.Offsets)
		m.dict, m.known, m.is = names.Dict, make([]T, n), make([]bool, n)
	}
	code := names.Codes[i]
	if !m.is[code] {
		m.known[code], m.is[code] = find(names.Get(i)), true
	}
	return m.known[code]
}
