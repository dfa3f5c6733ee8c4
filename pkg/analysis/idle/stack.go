package idle

// stack holds open spans, those that end last at the bottom. A span that ends no later than a
// newer one can never be innermost again, so it is removed when that one comes. Those that have
// ended are removed when the innermost one is asked for.
type stack[T any] []open[T]

// open is a span of which the end is known.
type open[T any] struct {
	end int64
	of  T
}

// push adds a span that starts no earlier than those before it.
func (s *stack[T]) push(end int64, of T) {
	n := len(*s)
	for n > 0 && (*s)[n-1].end <= end {
		n--
	}
	*s = append((*s)[:n], open[T]{end, of})
}

// innermost returns the span that is innermost at a time, nil for none. Times must not decrease.
func (s *stack[T]) innermost(now int64) *open[T] {
	for n := len(*s); n > 0; n-- {
		if top := &(*s)[n-1]; top.end > now {
			return top
		}
		*s = (*s)[:n-1]
	}
	return nil
}
