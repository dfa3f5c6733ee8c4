package report

import (
	"encoding/json"
	"strings"
	"testing"
)

// A brief report fits however long the names and however many the items are, keeps its
// first item, and says the figures to the ns.
func TestBriefFits(t *testing.T) {
	long := strings.Repeat("void kernel<тип>, ", 200)
	for _, items := range []int{0, 1, 2, 5, 50} {
		b := &Brief{Answer: long, Conclusion: "YES"}
		for range items {
			us := 1.23456789
			b.Items = append(b.Items, BriefItem{ID: BriefID("gaps", long), Claim: long, Evidence: long, Where: &long, MagnitudeUs: &us})
		}
		for range items {
			b.CannotTell = append(b.CannotTell, long)
		}
		b.Fit()
		text, err := json.MarshalIndent(b, "", "  ")
		if err != nil || len(text) > BriefLimit {
			t.Errorf("%d items: %d bytes, %v", items, len(text), err)
		}
		if items > 0 && (len(b.Items) == 0 || *b.Items[0].MagnitudeUs != 1.235 || strings.Contains(string(text), "null,\n      \"evidence\": null")) {
			t.Errorf("%d items: %s", items, text)
		}
	}
}

// Ids are of names: a place has the same one in each run, two places have two.
func TestBriefID(t *testing.T) {
	a, b := BriefID("gaps", "SYNC", "_forward_step/_sample_async"), BriefID("gaps", "SYNC", "_forward_step/_prepare_inputs")
	if a != "gaps-sync-_forward_step-_sample_async" || a == b {
		t.Errorf("%s, %s", a, b)
	}
	x, y := BriefID(strings.Repeat("a", 100)+"x"), BriefID(strings.Repeat("a", 100)+"y")
	if x == y || len(x) > maxID {
		t.Errorf("%s, %s", x, y)
	}
}
