package stat

import (
	"cmp"
	"math"
	"slices"
)

// Holm returns the probabilities p adjusted for their number: calling real what
// is at most alpha raises one false alarm or more with a probability of at most
// alpha, whatever the dependence between the rows and however many of them are
// real (Holm 1979). NaN stays NaN and does not count.
func Holm(p []float64) []float64 {
	adjusted, order := ordered(p)
	least := 0.0
	for k, i := range order {
		least = max(least, min(1, p[i]*float64(len(order)-k)))
		adjusted[i] = least
	}
	return adjusted
}

// BenjaminiHochberg returns the probabilities p adjusted so that of what is at
// most alpha a share of at most alpha is expected to be false alarms, for rows
// that are independent or positively dependent (Benjamini and Hochberg 1995).
// NaN stays NaN and does not count.
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

// ordered returns NaNs for the adjusted values and the indices of the
// probabilities in ascending order.
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

// Halves returns by how much the means of two halves of x differ by chance: x is
// cut into up to eight blocks, these are dealt out to two halves in all ways, and
// 95 % of the differences are below the result. It is NaN for fewer than eight
// samples.
func Halves(x []float64) float64 {
	blocks := min(8, len(x)/2/2*2)
	if blocks < 4 {
		return math.NaN()
	}
	means := make([]float64, blocks)
	for k := range means {
		means[k] = Mean(x[k*len(x)/blocks : (k+1)*len(x)/blocks])
	}
	var differences []float64
	for set := range 1 << (blocks - 1) { // the last block is in the second half
		taken, sum := 0, 0.0
		for k, m := range means {
			if set>>k&1 != 0 {
				taken++
				sum += m
			} else {
				sum -= m
			}
		}
		if 2*taken == blocks {
			differences = append(differences, math.Abs(sum)/float64(taken))
		}
	}
	slices.Sort(differences)
	return Quantile(differences, 0.95)
}
