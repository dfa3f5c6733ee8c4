package metric

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// archived are rows of n runs, of which change changes some.
func archived(seed uint64, n int, change func(k int, v map[string]float64)) *table.Table {
	rng := rand.New(rand.NewPCG(seed, 1))
	t := New()
	for k := range n {
		v := map[string]float64{StepP50: 3000, GPUIdle: 0.5, PrepImpact: 0.2, Launch: 0.02, GPUUtilization: 0.5, Comm: 0.4, CollectiveWait: 0.05, HostWait: 0.03}
		for _, name := range slices.Sorted(func(yield func(string) bool) {
			for name := range v {
				if !yield(name) {
					return
				}
			}
		}) {
			v[name] *= 1 + 0.01*rng.NormFloat64()
		}
		change(k, v)
		for name, x := range v {
			t.Append(fmt.Sprintf("run%d", k), nil, nil, nil, fmt.Sprintf(`{"node":"n%d"}`, k%40), int64(k), Generation, name, x, nil, nil, nil, nil)
		}
	}
	return t
}

// Planted runs are named by what was planted, in a thousand at most one other is, and in archives
// without any.
func TestOutliers(t *testing.T) {
	falsely := 0
	for seed := range uint64(cases.Few(5, 5, 20)) {
		o, err := FindOutliers(archived(seed, 1000, func(int, map[string]float64) {}), "run")
		if err != nil {
			t.Fatal(err)
		}
		falsely += len(o.Found)
	}
	if falsely > 2 {
		t.Errorf("%d archives without outliers have some", falsely)
	}
	o, err := FindOutliers(archived(7, 1000, func(k int, v map[string]float64) {
		if k%100 == 3 { // 300 us of input preparation
			v[StepP50] += 300
			v[PrepImpact], v[GPUIdle] = (600+300)/3300., (1500+300)/3300.
			v[GPUUtilization] = 1500 / 3300.
			v[CollectiveWait], v[HostWait], v[Launch] = 150/3300., 90/3300., 60/3300.
		}
	}), "run")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range o.Found {
		var k int
		fmt.Sscanf(f.Name, "run%d", &k)
		if k%100 == 3 && f.Cause == "input preparation" && f.CauseUs > 200 && f.CauseUs < 400 {
			found++
		}
	}
	if found != 10 || len(o.Found) > 11 {
		t.Errorf("%d of 10 found, among %d: %+v", found, len(o.Found), o.Found)
	}
}

// Groups are compared by the median of their runs, and a key that no run has is an error.
func TestOutliersOfGroups(t *testing.T) {
	rows := archived(3, 1000, func(k int, v map[string]float64) {
		if k%40 == 17 {
			v[StepP50] *= 1.1
		}
	})
	o, err := FindOutliers(rows, "node")
	if err != nil || o.Units != 40 || len(o.Found) != 1 || o.Found[0].Name != "n17" || o.Found[0].Runs != 25 {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := FindOutliers(rows, "rack"); err == nil {
		t.Error("no run has a rack")
	}
	if few, err := FindOutliers(archived(3, 3, func(int, map[string]float64) {}), "run"); err != nil || few.Unknown == "" {
		t.Errorf("of three runs: %+v, %v", few, err)
	}
}

// Among few runs chance explains much: one that may differ is named, with its difference.
func TestOutliersOfFew(t *testing.T) {
	for _, noise := range []float64{1, 40} { // us
		o, err := FindOutliers(archived(3, 8, func(k int, v map[string]float64) {
			v[StepP50] = 3000 + noise*float64(k%3)
			if k == 5 {
				v[StepP50] *= 0.94
			}
		}), "run")
		if err != nil {
			t.Fatal(err)
		}
		if named := append(o.Found, Outlier{}); noise == 1 && (named[0].Name != "run5" || o.Largest != nil) {
			t.Errorf("little noise: %+v, largest %+v", o, o.Largest)
		}
		if noise == 40 && (len(o.Found) > 0 || o.Largest == nil || o.Largest.Name != "run5" || o.Largest.DeltaUs > -100) {
			t.Errorf("much noise: %+v, largest %+v", o, o.Largest)
		}
	}
}
