package kineto

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
)

// Times are decimal text in microseconds. As floating point numbers they would lose
// precision: times since the epoch have 19 digits in ns.

// maxTime is the largest valid time, in ns: 100 years, so that sums do not overflow.
const maxTime = 100 * 365 * 86400 * 1_000_000_000

// maxExponent is the largest exponent that is applied digit by digit.
const maxExponent = 64

// nanoseconds parses b as a decimal number of microseconds and rounds it to ns, half
// away from zero. It returns false if b is not a number, or beyond maxTime.
func nanoseconds(b []byte) (int64, bool) {
	return decimal(unquoted(b), 3, maxTime)
}

// integer parses a whole number, such as an id, with no limit but an int64's.
func integer(b []byte) (int64, bool) {
	return decimal(unquoted(b), 0, math.MaxInt64)
}

// unquoted removes the quotes that some writers put around numbers.
func unquoted(b []byte) []byte {
	if len(b) > 1 && b[0] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

// decimal returns the decimal number in b times 10^shift, rounded to an integer, half
// away from zero. It returns false if b is not a number, or the result exceeds limit.
// An exponent shifts the point, digit by digit; a large one goes through a float64.
func decimal(b []byte, shift int, limit uint64) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	v, n, ok := fixed(b, shift, limit)
	if 0 < n && n < len(b) && (b[n] == 'e' || b[n] == 'E') {
		switch e, err := strconv.Atoi(string(b[n+1:])); {
		case err != nil || e >= maxExponent || e <= -maxExponent:
			f, err := strconv.ParseFloat(string(b), 64)
			f = math.Round(f * math.Pow10(shift))
			v, ok = uint64(f), (err == nil || errors.Is(err, strconv.ErrRange)) && f < float64(limit)
		case shift+e >= 0:
			v, _, ok = fixed(b[:n], shift+e, limit)
		default:
			v, _, ok = fixed(divided(b[:n], -shift-e), 0, limit)
		}
	} else if n < len(b) {
		return 0, false
	}
	switch {
	case !ok:
		return 0, false
	case negative:
		return -int64(v), true
	}
	return int64(v), true
}

// divided returns a number divided by 10^k. It keeps only the digits of the whole part,
// which suffice for rounding.
func divided(b []byte, k int) []byte {
	whole, _, _ := bytes.Cut(b, []byte("."))
	if len(whole) < k {
		return []byte("0")
	}
	return slices.Concat(whole[:len(whole)-k], []byte("."), whole[len(whole)-k:])
}

// fixed reads the digits at the beginning of b, which may contain a point. n is their
// length in bytes, 0 if b is not a number. It returns the number times 10^shift, and
// false if that exceeds limit, at most an int64's. Of the digits beyond, the first one
// rounds.
func fixed(b []byte, shift int, limit uint64) (v uint64, n int, ok bool) {
	most := limit / 10 // a larger value cannot take one more digit
	some, point, up := false, false, uint64(0)
	ok = true
number:
	for ; n < len(b); n++ {
		d := uint64(b[n] - '0')
		switch {
		case b[n] == '.' && !point:
			point = true
			continue
		case d > 9:
			break number
		case !point || shift > 0:
			ok = ok && v <= most
			v = 10*v + d
			if point {
				shift--
			}
		case shift == 0:
			up = d / 5
			shift = -1
		}
		some = true
	}
	if !some {
		return 0, 0, false
	}
	for ; shift > 0; shift-- {
		ok = ok && v <= most
		v *= 10
	}
	return v + up, n, ok && v+up <= limit
}
