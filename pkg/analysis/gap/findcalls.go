package gap

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Limits of what calls are found for.
const (
	perLayer   = 0.8 // calls for each layer
	minLayers  = 3
	maxPlaces  = 3    // findings of one pattern
	blockingUs = 20.0 // of a call that should only queue a copy
)

// wait is a call that waits for the GPU, at one place.
type wait struct {
	place
	own, after int64   // idle time in it, and after it that work queued ahead would have filled, ns
	count      float64 // calls per step
	older      int64   // idle time that is after it, too, if events waited for are of an earlier step, ns
	callNs     int64   // time of all calls
	locked     int64   // idle time in it for want of a lock, which is none of own, ns
	source     string
	// afterTokens is the part of after that comes after those which bring tokens back, and beside
	// tells that these, one per step, are left out: the rest are others at the same place.
	afterTokens int64
	beside      bool
}

// worth is the idle time that the wait costs, in us: what lies in it, and what comes after
// it, of which more than the calls took cannot be had back.
func (w *wait) worth() float64 {
	return us(w.own + min(w.after, max(0, w.callNs-w.own-w.locked)))
}

// waits finds calls that wait for the GPU where work could be queued: synchronisation and
// copies that block. One wait per step is how tokens come back, and none of the findings.
// That one wait is left out wherever its idle time is large: a step that is host-bound idles
// in it, too, and not because of it.
func (f *finder) waits() {
	tokens := f.tokenWait()
	list := f.waitList(tokens)
	found := 0
	for _, w := range list {
		if w.sameAs(tokens) || f.bringsTokens(w, tokens) || !f.worth(w.worth()) || found == maxPlaces {
			continue
		}
		what, ok := f.describeWait(w)
		if !ok {
			continue
		}
		found++
		f.claimed[w.place] = true
		pattern := Sync
		if f.oncePerLayer(w.count) && !strings.Contains(w.call, "Memcpy") {
			pattern = Hoist
		}
		f.add(pattern, w.worth(), Finding{Site: w.call, Path: w.path, Source: w.source},
			"%s (%s) %s%s, %s each%s: the GPU is idle %s%s",
			w.call, what, f.often(w.count), w.besideText(), report.Micros(us(w.callNs)/max(1, w.count*f.steps)), f.where(w.place), f.inAndAfter(w), f.perhapsMore(w)+f.perhapsTokens(w))
	}
}

// besideText says what is not counted of the calls of a place.
func (w *wait) besideText() string {
	if !w.beside {
		return ""
	}
	return " beside the one that brings tokens back"
}

// perhapsTokens says of a wait in a trace without steps that it may be the one per step which
// brings tokens back, as far as its name goes.
func (f *finder) perhapsTokens(w *wait) string {
	if f.rep.Workload != "" || f.rep.Idle.Steps > 0 || strings.HasSuffix(w.call, "DeviceSynchronize") {
		return ""
	}
	return "; if it comes once a step that is how tokens come back, and no fault: steps were not found"
}

// perhapsMore says how much more a wait is worth where the wait for an event behind it is not for
// what was launched in between.
func (f *finder) perhapsMore(w *wait) string {
	more := min(us(w.older), us(w.callNs-w.locked)-w.worth())
	if more <= 0 {
		return ""
	}
	return fmt.Sprintf("; %s more where the cudaEventSynchronize behind it is for an earlier step, as of engines that run a step ahead", report.Micros(more/f.steps))
}

// inAndAfter says how long the GPU is idle in a wait, and after it, and what of the latter the
// wait is worth.
func (f *finder) inAndAfter(w *wait) string {
	filled := ", which work queued ahead would have filled"
	if most := w.worth() - us(w.own); most < 0.995*us(w.after) {
		filled = fmt.Sprintf(", of which work queued ahead would have filled %s at most, as long as the calls take", report.Micros(max(0, most)/f.steps))
	}
	if cudaname.EffectOf(w.call)&cudaname.Polls != 0 {
		return f.per(us(w.after)) + " in these calls, between them and after them" + filled
	}
	var parts []string
	if w.own > 0 || w.after == 0 {
		parts = append(parts, f.per(us(w.own))+" in it")
	}
	if w.after > 0 {
		parts = append(parts, f.per(us(w.after))+" after it"+filled)
	}
	return strings.Join(parts, ", and ")
}

// waitList lists the calls that wait, the most costly first.
// A call may stand in it by its own idle time, by what came after it (drains), or by both;
// places are compared by text, since ranges of several ranks have numbers of their own.
func (f *finder) waitList(tokens *wait) []*wait {
	at := map[place]*wait{}
	get := func(p place) *wait {
		if at[p] == nil {
			k := f.calls[p]
			at[p] = &wait{place: p, count: float64(k.count) / f.steps, callNs: k.ns}
		}
		return at[p]
	}
	for _, cause := range []idle.Cause{idle.Sync, idle.Memop} {
		f.sites(cause.String(), func(s *Site) {
			w := get(place{s.Site, s.Path})
			w.locked, w.source = f.locked[w.place], s.Source
			w.own = s.Ns - w.locked
		})
	}
	for _, g := range f.groups {
		for k, d := range g.drains {
			path := f.c.sites.Path(k)
			w := get(place{f.c.sites.Name(k), f.c.sites.PathText(path)})
			w.after += d.ns
			w.source = f.c.Source(path)
		}
		for k, d := range g.older {
			get(place{f.c.sites.Name(k), f.c.sites.PathText(f.c.sites.Path(k))}).older += d.ns
		}
		for k, d := range g.tokenDrains {
			get(place{f.c.sites.Name(k), f.c.sites.PathText(f.c.sites.Path(k))}).afterTokens += d.ns
		}
	}
	var list []*wait
	for _, w := range at {
		f.besideTokens(w, tokens)
		if w.call != "" {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b *wait) int {
		return cmp.Or(cmp.Compare(b.worth(), a.worth()), strings.Compare(a.call, b.call), strings.Compare(a.path, b.path))
	})
	return list
}

// besideTokens leaves the waits that bring tokens back out of those of a place, where these are none
// of a place of their own: outside of any range others are at the same one.
func (f *finder) besideTokens(w, tokens *wait) {
	if f.rep.Workload != "" {
		return
	}
	t := f.tokens[w.place]
	if per := float64(t.count) / f.steps; tokens != nil && w.count < 1.5 || per < 0.5 || per > 1.5 {
		return
	}
	w.beside = true
	w.own = max(0, w.own-f.tokenIdle[w.place].ns)
	w.after = max(0, w.after-w.afterTokens)
	w.count -= float64(t.count) / f.steps
	w.callNs = max(0, w.callNs-t.ns)
}

// describeWait says what a call is a case of; ok is false for one that only queues.
func (f *finder) describeWait(w *wait) (what string, ok bool) {
	layer := ""
	if f.oncePerLayer(w.count) {
		layer = "once a layer, "
	}
	k := f.calls[w.place]
	switch {
	case strings.HasSuffix(w.call, "Synchronize"):
		return layer + "waits for the GPU", true
	case cudaname.EffectOf(w.call)&cudaname.Blocks != 0:
		return layer + "a copy that blocks", true
	case cudaname.EffectOf(w.call)&cudaname.Polls != 0:
		return layer + "asks again and again whether the GPU is done", true
	case k.count > 0 && us(k.ns)/float64(k.count) >= blockingUs:
		return layer + "a copy that should only be queued, and blocks, as those of pageable host memory do: pin that, or do without the copy (.item(), .tolist())", true
	}
	return "", false
}

// where says in which ranges a call is made, or after which one.
func (f *finder) where(p place) string {
	if p.path != "" {
		return in(p.path)
	}
	counts := map[int32]int64{}
	for _, g := range f.groups {
		for s, n := range g.after {
			if s.path >= 0 && f.c.kernels.text(s.name) == p.call {
				counts[s.path] += n.count
			}
		}
	}
	if len(counts) == 0 {
		return ""
	}
	return ", after " + f.c.ranges.text(Most(counts))
}

// tokenWait returns the wait that brings back tokens, nil where none is: of those that come
// about once per step, outside of the forward pass, an event before a stream. A wait for
// the whole device is never meant for them, and who polls or copies and launches nothing is a
// watchdog, or fetches something else.
// About once is 0.5 to 1.5 times per step, for each of the threads that wait there where a
// process has one for each GPU. Of the same calls one in a range that does not prepare inputs
// goes first, then one that in most steps is the first after kernels that sample were launched
// (a wait ahead of these can not be for tokens), then the one that takes longest, as that waits for
// what the step has launched, then the first by name, so that the same run always has the same
// answer.
func (f *finder) tokenWait() *wait {
	if f.rep.Workload != "" { // no tokens come back
		return nil
	}
	var best *wait
	score, longest := 0, int64(0)
	gpus := float64(max(1, f.rep.Idle.GPUs)) / float64(max(1, len(f.views))) // of a rank
	for at, k := range f.calls {
		n := float64(k.count) / f.steps
		s := 0
		switch {
		case n < 0.5 || n >= 1.5*min(gpus, max(1, float64(bits.OnesCount64(k.threads)))) || f.forward(at.path):
		case strings.HasSuffix(at.call, "EventSynchronize"):
			s = 3
		case strings.HasSuffix(at.call, "StreamSynchronize"):
			s = 2
		case cudaname.EffectOf(at.call)&(cudaname.Blocks|cudaname.Polls) == 0 && !(strings.Contains(at.call, "Memcpy") && us(k.ns) >= blockingUs*float64(k.count)):
		case k.parts > 0 && 10*f.streamWaits(at.path) <= 11*k.count:
			s = 1
		}
		if s *= 4; s > 0 && at.path != "" && marker.ClassNVTX(innermost(at.path)) != marker.Prep {
			s += 2
		}
		if s > 0 && 2*f.tokens[at].count > k.count {
			s++
		}
		if s > score || s == score && s > 0 && (k.ns > longest || k.ns == longest && at.path+at.call < best.path+best.call) {
			best, score, longest = &wait{place: at}, s, k.ns
		}
	}
	return best
}

// streamWaits is how many waits for a stream there are in a path: one behind each copy that comes
// back there.
func (f *finder) streamWaits(path string) (n int64) {
	for at, k := range f.calls {
		if at.path == path && strings.HasSuffix(at.call, "StreamSynchronize") {
			n += k.count
		}
	}
	return n
}

// sameAs tells whether two waits are the same call in the same innermost range.
func (w *wait) sameAs(o *wait) bool {
	return o != nil && w.call == o.call && innermost(w.path) == innermost(o.path)
}

// bringsTokens tells whether a wait is a copy that the wait for tokens is made for: PyTorch makes
// one for the stream behind each copy that it needs (.tolist(), .cpu()), also where that has blocked.
func (f *finder) bringsTokens(w, tokens *wait) bool {
	return tokens != nil && strings.Contains(w.call, "Memcpy") && innermost(w.path) == innermost(tokens.path) &&
		10*f.calls[w.place].count <= 11*f.calls[tokens.place].count
}

// innermost is the last range of a path as text.
func innermost(path string) string {
	if i := strings.LastIndex(path, " > "); i >= 0 {
		return path[i+3:]
	}
	return path
}

// forward tells whether a path is inside a forward-step marker.
func (f *finder) forward(path string) bool {
	return slices.ContainsFunc(strings.Split(path, " > "), func(name string) bool { return f.c.markerNames()[name] })
}

// markerNames are the names of forward-step markers.
func (c *computer) markerNames() map[string]bool {
	if c.marked == nil {
		c.marked = map[string]bool{}
		for id := range int32(c.ranges.Len()) {
			if c.ranges.of(id).marker {
				c.marked[c.ranges.text(id)] = true
			}
		}
	}
	return c.marked
}

// oncePerLayer tells whether calls come for each layer.
func (f *finder) oncePerLayer(count float64) bool {
	p := f.rep.Pattern
	return p != nil && p.Layers != nil && *p.Layers >= minLayers && count >= perLayer*float64(*p.Layers)
}

// objects finds calls that make or free memory, streams and events.
func (f *finder) objects() {
	found := 0
	f.sites(event.Classes[event.Alloc], func(s *Site) {
		at := place{s.Site, s.Path}
		k, own := f.calls[at], us(s.Ns-f.locked[at])
		if k.count == 0 || cudaname.EffectOf(s.Site) != cudaname.MakesObjects || !f.worth(own) || found == maxPlaces {
			return
		}
		found++
		f.claimed[at] = true
		f.add(Alloc, own, Finding{Site: s.Site, Path: s.Path, Source: s.Source}, "%s (makes or frees objects) %s, %s each%s: the GPU is idle %s in it",
			s.Site, f.often(float64(k.count)/f.steps), report.Micros(us(k.ns)/float64(k.count)), in(s.Path), f.per(own))
	})
}
