package event

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// TestRankFacts adds up the parts of a rank: what lies between them was not
// recorded.
func TestRankFacts(t *testing.T) {
	at := func(v int64) *int64 { return &v }
	part := func(start, end int64, gaps ...[2]int64) RankFacts {
		return RankFacts{Rank: 3, Markers: 2, RankSpan: RankSpan{
			GPUStart: at(start), GPUEnd: at(end), BusyStart: at(start - 1), BusyEnd: at(end + 1), Unrecorded: gaps}}
	}
	h := &Header{Reports: []Report{
		{Ranks: []int32{3}, RankFacts: []RankFacts{part(10, 50, [2]int64{20, 30})}},
		{Ranks: []int32{4}, Extent: Extent{GPUStart: at(7), GPUEnd: at(9)}, LostEvents: true},
		{Ranks: []int32{3}, RankFacts: []RankFacts{part(70, 90, [2]int64{75, 80})}},
	}}
	want := RankSpan{GPUStart: at(10), GPUEnd: at(90), BusyStart: at(9), BusyEnd: at(91), Unrecorded: [][2]int64{{20, 30}, {51, 69}, {75, 80}}}
	if got := h.Span(3); !reflect.DeepEqual(got, want) {
		t.Errorf("span %+v, want %+v", got, want)
	}
	slices.Reverse(h.Reports) // parts in any order
	if got := h.Span(3); !reflect.DeepEqual(got, want) {
		t.Errorf("span %+v, want %+v", got, want)
	}
	if got, want := h.Span(4), (RankSpan{GPUStart: at(7), GPUEnd: at(9)}); !reflect.DeepEqual(got, want) { // a stream of version 1
		t.Errorf("span of the report %+v, want %+v", got, want)
	}
	if !reflect.DeepEqual(h.Span(5), RankSpan{}) || h.RankFacts(4) != nil || h.NumRanks() != 2 || !h.LostEvents() {
		t.Error("unknown ranks, or their number, or lost events")
	}
	if h.RankFacts(3).Markers != 4 || len(h.Reports[2].RankFacts[0].Unrecorded) != 1 {
		t.Error("counts of the parts, or the first part was changed")
	}
}

func TestReportOfOneSource(t *testing.T) {
	for text, want := range map[string]Report{
		`{"file":"a","nsys":"2025.1","ranks":[2]}`:                                   {File: "a", Recorder: Recorder{Source: "nsys", Version: "2025.1"}, Ranks: []int32{2}},
		`{"file":"a","source":"torch","source_version":"2.9","nsys":"","ranks":[2]}`: {File: "a", Recorder: Recorder{Source: "torch", Version: "2.9"}, Ranks: []int32{2}},
		`{"file":"a"}`: {File: "a"},
	} {
		var got Report
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// A warning of many reports is one, and says of which.
func TestHeaderWarnings(t *testing.T) {
	h := Header{Reports: []Report{{File: "a"}, {File: "b"}, {File: "c"}, {File: "d"}, {File: "e"}}}
	for i := range h.Reports {
		h.Reports[i].Warnings = []string{"late"}
		if i < 4 {
			h.Reports[i].Warnings = append(h.Reports[i].Warnings, "cut")
		}
	}
	h.Reports[3].Warnings = append(h.Reports[3].Warnings, "lost", "lost")
	if got, want := h.Warnings(), []string{"all reports: late", "a, b and 2 others: cut", "d: lost"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	h.Reports = h.Reports[3:4]
	if got, want := h.Warnings(), []string{"late", "cut", "lost"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
