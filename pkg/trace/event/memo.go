package event

// Memo caches a value for each name of a Dict. It is valid for the last Dict it saw.
type Memo[T any] struct {
	dict  *Dict // of the cached names
	known []T
	is    []bool
}

// Of returns find's value for the name of row i. find must be the same function every
// time.
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
