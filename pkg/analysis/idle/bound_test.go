package idle

import (
	"fmt"
	"maps"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Where all GPUs have appeared, what threads did before the gaps is let go of without being
// forgotten, and the answer is the same.
func TestAllAppeared(t *testing.T) {
	var rows []eventtest.Row
	for i := range int64(500) {
		at := 100 * i
		sync := eventtest.New(event.API, 0, at, at+10+i%7, "cudaStreamSynchronize")
		launch := eventtest.New(event.API, 0, at+30, at+40, "cudaLaunchKernel")
		sync.Class, launch.Class, sync.Thread, launch.Thread = event.APISync, event.Launch, 1, 1
		rows = append(rows, sync, launch)
		for device := range int32(2) {
			k := eventtest.New(event.Kernel, 0, at+45+int64(device), at+80+i%11, "k")
			k.Device, k.Stream, k.Correlation, k.LaunchStart, k.LaunchEnd, k.LaunchThread = device, 7, i, launch.Start, launch.End, 1
			rows = append(rows, k)
		}
	}
	eventtest.Sort(rows)
	var want map[string]int64
	for _, gpus := range []int{0, 2, 3} {
		r := NewRank(NewSites(), Options{Store: spill.NewStore(1 << 20), MaxStates: 64, GPUs: gpus})
		r.Cut(0, true)
		src := eventtest.Source(eventtest.Header(rows), rows, 20)
		if err := event.Each(src, func(b *event.Batch) error { r.Observe(b, 0, b.Len); return nil }); err != nil {
			t.Fatal(err)
		}
		r.Close()
		got := map[string]int64{}
		r.Each(never, func(s Sample) { got[fmt.Sprint(s.Slice, s.Key, s.Inter)] += s.Ns })
		if want == nil {
			want = got
		} else if !maps.Equal(got, want) {
			t.Errorf("with %d GPUs said: %v, want %v", gpus, got, want)
		}
	}
	if len(want) < 3 {
		t.Errorf("only %v", want)
	}
}
