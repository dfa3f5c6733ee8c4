package event_test

import (
	"reflect"
	"testing"

	"github.com/hostbound/hostbound/pkg/event"
)

func TestSpanOverParts(t *testing.T) {
	at := func(v int64) *int64 { return &v }
	h := &event.Header{Reports: []event.Report{
		{Ranks: []int32{0, 1}, GPUStart: at(1), GPUEnd: at(90), Spans: []event.RankSpan{
			{GPUStart: at(10), GPUEnd: at(20), BusyStart: at(5), BusyEnd: at(25), Unrecorded: [][2]int64{{12, 14}}},
			{},
		}},
		{Ranks: []int32{0}, Spans: []event.RankSpan{
			{GPUStart: at(2), GPUEnd: at(4), Unrecorded: [][2]int64{{4, 9}}},
		}},
		{Ranks: []int32{2}, GPUStart: at(7), GPUEnd: at(8)}, // as older writers have it
	}}
	for rank, want := range []event.RankSpan{
		{GPUStart: at(2), GPUEnd: at(20), BusyStart: at(5), BusyEnd: at(25), Unrecorded: [][2]int64{{4, 9}, {12, 14}}},
		{},
		{GPUStart: at(7), GPUEnd: at(8)},
		{},
	} {
		if got := h.Span(int32(rank)); !reflect.DeepEqual(got, want) {
			t.Errorf("rank %d: %+v, want %+v", rank, got, want)
		}
	}
}
