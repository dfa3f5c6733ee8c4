package idle

import "github.com/hostbound/hostbound/pkg/trace/event"

// Observe observes rows i to j, all of the rank and of the open slice. Rows that are
// neither GPU activity, calls nor ranges mean nothing here.
func (r *Rank) Observe(b *event.Batch, i, j int) {
	var a Activity
	kinds := b.Kind.Values[:j]
	for ; i < j; i++ {
		switch kinds[i] {
		case event.Kernel, event.Graph, event.Memcpy, event.Memset:
			if r.IsActivity(b, i) {
				r.Read(b, i, &a)
				r.Activity(&a)
			}
		case event.API:
			r.Call(b, i)
		case event.NVTX:
			r.Range(b, i)
		case event.OS, event.Run, event.Overhead:
			r.Host(b, i)
		case event.Sample, event.Backtrace:
			r.Stack(b, i)
		}
	}
	r.Bound()
}
