package lineprof

import "math"

// scaleOf returns a unit in ns. Units are powers of ten in nearly all profiles; the
// result for those is whole.
func scaleOf(unit float64) float64 {
	scale := unit * 1e9
	if whole := math.Round(scale); whole > 0 && math.Abs(scale-whole) < 1e-9*whole {
		return whole
	}
	return scale
}

// units are the usual units, in seconds, for inferring a missing one.
var units = []float64{1e-9, 1e-7, 1e-6, 1e-3, 1}

// inferUnit returns the unit, in seconds, at which times agree with their shares of the
// total; 0 if it is unknown. Times printed in full take precedence. Tables need not be
// complete: rows that were cut off are missing on both sides.
func inferUnit(figures []row, total float64) float64 {
	for _, scientific := range []bool{false, true} {
		times, shares := 0.0, 0.0
		for _, f := range figures {
			if f.ran && f.share > 0 && f.time.scientific == scientific {
				times += f.time.value
				shares += f.share / 100 * total
			}
		}
		if times > 0 && shares > 0 {
			return snap(shares / times)
		}
	}
	return 0
}

// snap returns the usual unit near u, or else u.
func snap(u float64) float64 {
	for _, usual := range units {
		if u > usual/nearUnit && u < usual*nearUnit {
			return usual
		}
	}
	return u
}

// toNs returns a time in ns, 0 if it is negative, saturated at most. Beyond 104 days it
// has 53 bits.
func (n number) toNs(scale float64) int64 {
	if n.negative {
		return 0
	}
	return roundNs(n.value * scale)
}

// roundNs rounds to ns, within 0 to most.
func roundNs(ns float64) int64 {
	return int64(math.Round(min(max(0, ns), most)))
}

// lineTime returns a line's time in ns: as printed, or from the share of the total if
// the printed time is too coarse. That is so for times in scientific notation, and if
// the unit is a large part of the total.
func (f *row) lineTime(unit, scale, totalNs float64) (int64, Exactness) {
	switch {
	case !f.ran:
		return 0, NoTime
	case f.time.scientific && f.share > 0 && totalNs > 0:
		return roundNs(f.share / 100 * totalNs), FromShare
	case scale == 0:
		return 0, NoTime
	case !f.time.scientific && (!f.time.point || scaleOf(unit) <= 1 && f.time.value == math.Trunc(f.time.value)):
		return f.time.toNs(scale), Exact
	case f.time.point && f.share > 0 && coarse*scale > totalNs && f.agreesShare(f.time, 1, scale, totalNs):
		return roundNs(f.share / 100 * totalNs), FromShare
	}
	return f.time.toNs(scale), Rounded
}

// contradicts reports whether the columns cannot be of one line: the time is neither
// hits × time per hit nor the share of the total. Numbers in scientific notation have
// one digit.
func (f *row) contradicts(scale, totalNs float64) bool {
	if !f.ran || f.time.negative {
		return false
	}
	return !f.agreesPerHit() || !f.agreesShare(f.time, 1, scale, totalNs)
}

// outvoted reports whether the time is what does not fit: hits × time per hit agrees
// with the share.
func (f *row) outvoted(scale, totalNs float64) bool {
	return f.share > 0 && f.hits.value > 0 && totalNs > 0 && !f.agreesPerHit() &&
		!f.agreesShare(f.time, 1, scale, totalNs) && f.agreesShare(f.perHit, f.hits.value, scale, totalNs)
}

// agreesPerHit reports whether hits × time per hit equals the time within the printed
// precision, half of the first decimal of each.
func (f *row) agreesPerHit() bool {
	if f.hits.value <= 0 || f.time.scientific || f.perHit.scientific {
		return true
	}
	return math.Abs(f.time.value-f.hits.value*f.perHit.value) <= halfDecimal*f.hits.value+halfDecimal+1e-6*f.time.value
}

// agreesShare reports whether a number of units, times n, agrees with the share of the
// total.
func (f *row) agreesShare(units number, n, scale, totalNs float64) bool {
	if f.share < 0 || totalNs <= 0 || scale == 0 {
		return true
	}
	ns := units.value * n * scale
	room := halfDecimal/100*totalNs + halfDecimal*n*scale
	if units.scientific {
		room += 0.5 * ns
	}
	return math.Abs(ns-f.share/100*totalNs) <= room
}
