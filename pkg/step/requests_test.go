package step

import (
	"testing"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// A thread fetches requests in calls that wait, inside a range that fetches, and may follow
// another rank in calls that wait for input or others, wherever they are.
func TestRequester(t *testing.T) {
	var r Requester
	none := stat.Span{}
	for _, c := range []struct {
		class               event.Class
		from, to            int64
		fetching, following stat.Span
	}{
		{event.OSIO, 10, 20, none, stat.Span{From: 10, To: 20}},
		{event.OSSleep, 110, 120, stat.Span{From: 110, To: 120}, none},
		{event.OSJoin, 190, 220, stat.Span{From: 190, To: 200}, none},
		{event.OSFile, 110, 120, none, none},
		{event.OSWait, 200, 220, none, stat.Span{From: 200, To: 220}},
	} {
		if c.from == 110 {
			r.Fetches(200)
		}
		if got := r.Waits(c.class, c.from, c.to); got[Fetching] != c.fetching || got[Following] != c.following {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
