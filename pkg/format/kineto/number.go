package kineto

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
)

// Times are decimal text in microseconds. As floating point numbers they lose
// what counts: those since the epoch have 19 digits in ns.

// maxTime is the largest time, in ns, that is taken for one: 100 years, so that sums fit.
const maxTime = 100 * 365 * 86400 * 1_000_000_000

// maxExponent is the largest one that is looked at digit by digit.
const maxExponent = 64

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
// An exponent moves the point, digit by digit; what it moves too far is taken as a float64.
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

// divided returns a number divided by 10^k, up to the digits of its whole part, which are all
// that rounds.
func divided(b []byte, k int) []byte {
	whole, _, _ := bytes.Cut(b, []byte("."))
	if len(whole) < k {
		return []byte("0")
	}
	return slices.Concat(whole[:len(whole)-k], []byte("."), whole[len(whole)-k:])
}

// fixed reads the digits that b begins with, and the point among them: n is how many
// bytes they are, 0 for no number. It returns the number times 10^shift, and false
// where that is above limit, an int64's at most. Of the decimals beyond it the first
// rounds.
func fixed(b []byte, shift int, limit uint64) (v uint64, n int, ok bool) {
	most := limit / 10 // what can have one more digit
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
