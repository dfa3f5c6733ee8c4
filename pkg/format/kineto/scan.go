package kineto

import "bytes"

// status is the outcome of a scan.
type status int

const (
	whole  status = iota // the value ends where the scan ended
	more                 // the value goes on after the available bytes
	broken               // not JSON
)

// The meaning of bytes outside strings.
const (
	quote = 1 + iota
	opens
	closes
)

var meaning = [256]uint8{'"': quote, '{': opens, '[': opens, '}': closes, ']': closes}

// follows are the bytes that may follow a string. Anything else means that a quote
// within the string was not escaped.
var follows = [256]bool{',': true, ':': true, '}': true, ']': true, ' ': true, '\n': true, '\r': true, '\t': true}

// stringEnd returns the index after the string that begins at b[i], more than len(b) if
// its end is not in b. Control characters and invalid UTF-8 are accepted: real names
// contain them.
func stringEnd(b []byte, i int) int {
	for j := i + 1; ; j++ {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return len(b) + 1
		}
		j += k
		n := j
		for n > i+1 && b[n-1] == '\\' {
			n--
		}
		if (j-n)&1 == 0 {
			return j + 1
		}
	}
}

// valueEnd returns the index after the object or array that begins at b[i].
func valueEnd(b []byte, i int) (int, status) {
	depth := 0
	var arrays uint64 // whether open values are arrays, innermost in the lowest bit
	for i < len(b) {
		switch meaning[b[i]] {
		case quote:
			if i = stringEnd(b, i); i >= len(b) {
				return i, more
			}
			if !follows[b[i]] {
				return i, broken
			}
		case opens:
			if depth++; depth > maxDepth {
				return i, broken
			}
			arrays = arrays<<1 | uint64(b[i]>>5&1^1)
			i++
		case closes:
			if arrays&1 != uint64(b[i]>>5&1^1) {
				return i, broken
			}
			arrays >>= 1
			depth--
			i++
			if depth == 0 {
				return i, whole
			}
		default:
			i++
		}
	}
	return i, more
}

// skipSpace returns the index of the first byte from b[i] on that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// scanValue returns the index after the value of any kind that begins at b[i]. Words
// such as NaN and inf are values. A word that reaches the end of b may go on.
func scanValue(b []byte, i int) (int, status) {
	switch meaning[b[i]] {
	case quote:
		if i = stringEnd(b, i); i > len(b) {
			return i, more
		}
		return i, whole
	case opens:
		return valueEnd(b, i)
	}
	for i < len(b) && !follows[b[i]] && b[i] != '"' {
		i++
	}
	if i == len(b) {
		return i, more
	}
	return i, whole
}

// anyEnd is scanValue for complete input. It returns more than len(b) if the value is
// broken or incomplete; a word that ends with b is complete.
func anyEnd(b []byte, i int) int {
	if i == len(b) {
		return i + 1
	}
	end, st := scanValue(b, i)
	if st == broken || st == more && meaning[b[i]] == opens {
		return len(b) + 1
	}
	return end
}
