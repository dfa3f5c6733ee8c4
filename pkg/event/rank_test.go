package event

import (
	"reflect"
	"testing"
)

// TestRankFacts adds up the parts of a rank: what lies between them was not
// recorded.
func TestRankFacts(t *testing.T) {
	at := func(v int64) *int64 { return &v }
	part := func(start, end int64, gaps ...[2]int64) RankFacts {
		return RankFacts{Rank: 3, GPUStart: at(start), GPUEnd: at(end), BusyStart: at(start - 1), BusyEnd: at(end + 1), Unrecorded: gaps, Markers: 2}
	}
	h := &Header{Reports: []Report{
		{Ranks: []int32{3}, RankFacts: []RankFacts{part(10, 50, [2]int64{20, 30})}},
		{Ranks: []int32{4}, GPUStart: at(7), GPUEnd: at(9), LostEvents: true},
		{Ranks: []int32{3}, RankFacts: []RankFacts{part(70, 90, [2]int64{75, 80})}},
	}}
	if got, want := h.Unrecorded(3), [][2]int64{{20, 30}, {51, 69}, {75, 80}}; !reflect.DeepEqual(got, want) {
		t.Errorf("unrecorded %v, want %v", got, want)
	}
	if s, e, ok := h.GPUSpan(3, false); s != 10 || e != 90 || !ok {
		t.Errorf("span %d..%d %v", s, e, ok)
	}
	if s, e, ok := h.GPUSpan(3, true); s != 9 || e != 91 || !ok {
		t.Errorf("busy span %d..%d %v", s, e, ok)
	}
	if s, e, ok := h.GPUSpan(4, false); s != 7 || e != 9 || !ok { // a stream of version 1
		t.Errorf("span of the report %d..%d %v", s, e, ok)
	}
	if _, _, ok := h.GPUSpan(5, false); ok || h.RankFacts(4) != nil || h.NumRanks() != 2 || !h.LostEvents() {
		t.Error("unknown ranks, or their number, or lost events")
	}
	if h.RankFacts(3).Markers != 4 || len(h.Reports[0].RankFacts[0].Unrecorded) != 1 {
		t.Error("counts of the parts, or the first part was changed")
	}
}
