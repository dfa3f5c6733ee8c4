package stat

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts the p-values p for their number. If rows with an adjusted value of at
// most alpha are called significant, the probability of any false alarm is at most
// alpha. That holds for any dependence between rows, and any number of real changes
// (Holm 1979). A row of twice the weight has twice the share of alpha. Rows that are NaN
// or have no weight are NaN and do not count.
func Holm(p, weight []float64) []float64 {
	of, left := make([]float64, len(p)), 0.0
	for i, w := range weight {
		of[i] = p[i] / w
		if w <= 0 {
			of[i] = math.NaN()
		}
		if !math.IsNaN(of[i]) {
			left += w
		}
	}
	adjusted, order := ordered(of)
	least := 0.0
	for _, i := range order {
		least = max(least, min(1, of[i]*left))
		adjusted[i] = least
		left -= weight[i]
	}
	return adjusted
}

// BenjaminiHochberg adjusts the p-values p so that, of rows with an adjusted value of at
// most alpha, a share of at most alpha is expected to be false alarms. Rows must be
// independent or positively dependent (Benjamini and Hochberg 1995). NaN stays NaN and
// does not count.
func BenjaminiHochberg(p []float64) []float64 {
	adjusted, order := ordered(p)
	most := 1.0
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		most = min(most, p[i]*float64(len(order))/float64(k+1))
		adjusted[i] = most
	}
	return adjusted
}

// ordered returns NaNs for the adjusted values, and the indices of p, without NaNs, in
// ascending order of p.
func ordered(p []float64) (adjusted []float64, order []int) {
	adjusted = make([]float64, len(p))
	for i, v := range p {
		adjusted[i] = math.NaN()
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	return adjusted, order
}
