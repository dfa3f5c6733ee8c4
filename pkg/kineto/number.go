package kineto

import "math"

// Times are decimal text in microseconds. As floating point numbers they lose
// what counts: those since the epoch have 19 digits in ns.

// maxTime is the largest time, in ns, that is taken for one: 100 years, so that sums fit.
const maxTime = 100 * 365 * 86400 * 1_000_000_000

// nanoseconds returns the decimal number of microseconds that b is, rounded to
// ns, half away from zero; false where it is none, or beyond maxTime.
func nanoseconds(b []byte) (int64, bool) {
	return decimal(unquoted(b), 3, maxTime)
}

// whole numbers, such as ids, have no limit of their own.
func integer(b []byte) (int64, bool) {
	return decimal(unquoted(b), 0, math.MaxInt64)
}

// unquoted returns a number without the quotes that some writers set it in.
func unquoted(b []byte) []byte {
	if len(b) > 1 && b[0] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

// decimal returns the decimal number in b times 10^shift, rounded to a whole
// number, half away from zero; false where b is none, or the number above limit.
func decimal(b []byte, shift int, limit uint64) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	digits, scale, n := digitsOf(b)
	if n == 0 {
		return 0, false
	}
	if scale += shift; n < len(b) {
		exponent, ok := exponentOf(b[n:])
		if !ok {
			return 0, false
		}
		scale += exponent
	}
	v, ok := scaled(digits, scale, limit)
	if negative {
		v = -v
	}
	return v, ok
}

// digitsOf reads the digits that b begins with, and the point among them: the number
// is digits times 10^scale. n is how many bytes that is, 0 for no number. Digits
// beyond the 19th do not fit and count as zeros; a time has 16.
func digitsOf(b []byte) (digits uint64, scale, n int) {
	count := 0 // significant digits so far
	point := false
	for ; n < len(b); n++ {
		c := b[n]
		switch {
		case c == '.' && !point:
			point = true
		case c < '0' || c > '9':
			return digits, scale, atLeast(n, point)
		case count < 19:
			if digits = 10*digits + uint64(c-'0'); digits > 0 {
				count++
			}
			if point {
				scale--
			}
		case !point:
			scale++
		}
	}
	return digits, scale, atLeast(n, point)
}

// atLeast returns n where it is a digit at least, besides the point; else 0.
func atLeast(n int, point bool) int {
	if n == 1 && point {
		return 0
	}
	return n
}

// scaled returns digits times 10^scale, rounded; false where it is above limit.
func scaled(digits uint64, scale int, limit uint64) (int64, bool) {
	for ; scale > 0 && digits > 0; scale-- {
		if digits > limit/10 {
			return 0, false
		}
		digits *= 10
	}
	if scale < -19 {
		digits, scale = 0, 0
	}
	up := false
	for ; scale < 0; scale++ {
		up = digits%10 >= 5
		digits /= 10
	}
	if up {
		digits++
	}
	return int64(digits), digits <= limit
}

// exponentOf reads what follows the digits of a number: e, a sign, digits.
func exponentOf(b []byte) (int, bool) {
	if len(b) < 2 || b[0] != 'e' && b[0] != 'E' {
		return 0, false
	}
	b = b[1:]
	negative := b[0] == '-'
	if negative || b[0] == '+' {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 3 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}
