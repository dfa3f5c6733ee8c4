package stat

import (
	"cmp"
	"math"
	"slices"
)

// Holm returns the probabilities p adjusted for their number: calling real what
// is at most alpha raises one false alarm or more with a probability of at most
// alpha, whatever the dependence between the rows and however many of them are
// real (Holm 1979). A row of twice the weight has twice the share of alpha; nil is
// equal weights. What is NaN or without weight is NaN and does not count.
func Holm(p, weight []float64) []float64 {
	of := make([]float64, len(p))
	left := 0.0
	for i, v := range p {
		of[i] = math.NaN()
		if w := weightOf(weight, i); !math.IsNaN(v) && w > 0 {
			of[i] = v / w
			left += w
		}
	}
	adjusted, order := ordered(of)
	least := 0.0
	for _, i := range order {
		least = max(least, min(1, of[i]*left))
		adjusted[i] = least
		left -= weightOf(weight, i)
	}
	return adjusted
}

// weightOf is the weight of row i, 1 without weights.
func weightOf(weight []float64, i int) float64 {
	if weight == nil {
		return 1
	}
	return weight[i]
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
