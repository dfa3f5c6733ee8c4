package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// slice is a stretch of time on a track.
type slice struct {
	start, end int64 // ns
	name       string
	category   string
	args       []string // further arguments, each a JSON key and value
	out, in    uint64   // ids of the arrow that begins here and of the one that ends here, 0 for none
}

// arg formats an argument of a slice.
func arg[V string | int64](key string, value V) string {
	return quote(key) + ":" + quote(value)
}

// track is a list of slices, of which any two are disjoint or nested. They are sorted by
// start, then the longer first.
type track struct {
	name   string
	slices []slice
}

// group is the tracks of a rank.
type group struct {
	rank   int32
	tracks []track
}

// layout places the steps of a run on tracks.
func layout(t *Timeline) []group {
	var groups []group
	arrows := uint64(0)
	for i := 0; i < len(t.Steps); {
		j := i
		for j < len(t.Steps) && t.Steps[j].Rank == t.Steps[i].Rank {
			j++
		}
		b := builder{tracks: map[trackKey][]slice{}, seen: map[eventKey]place{}, arrows: &arrows}
		for _, s := range t.Steps[i:j] {
			b.step(s)
		}
		groups = append(groups, group{t.Steps[i].Rank, b.finish()})
		i = j
	}
	shift(groups)
	return groups
}

// shift moves all times up if some are below 0.
func shift(groups []group) {
	var first int64
	for _, g := range groups {
		for _, t := range g.tracks {
			for i := range t.slices {
				first = min(first, t.slices[i].start)
			}
		}
	}
	for _, g := range groups {
		for _, t := range g.tracks {
			for i := range t.slices {
				t.slices[i].start -= first
				t.slices[i].end -= first
			}
		}
	}
}

// section is the position of a kind of track in its group.
type section uint8

const (
	steps section = iota
	waits
	streams
	threads
	profiler
)

// trackKey identifies a track and gives the order of tracks.
type trackKey struct {
	section section
	id      int64 // the device or thread
	part    int64 // the stream, or for a thread 1 for the track of when it ran
}

func (k trackKey) name() string {
	switch k.section {
	case steps:
		return "steps"
	case waits:
		return fmt.Sprintf("GPU %d waits for", k.id)
	case streams:
		if k.part == None {
			return fmt.Sprintf("GPU %d", k.id)
		}
		return fmt.Sprintf("GPU %d, stream %d", k.id, k.part)
	case threads:
		if k.part == 1 {
			return fmt.Sprintf("thread %d, CPU", k.id)
		}
		return fmt.Sprintf("thread %d", k.id)
	}
	return "profiler"
}

// eventKey identifies an event that occurs in two steps: it is open across their border,
// or launched in one what runs in the other.
type eventKey struct {
	track       trackKey
	start, end  int64
	name        string
	correlation int64
}

// place is the position of a slice.
type place struct {
	track trackKey
	index int
}

// builder collects the slices of a rank.
type builder struct {
	tracks map[trackKey][]slice
	seen   map[eventKey]place
	arrows *uint64
}

// step adds a step and what happened in it.
func (b *builder) step(s *Step) {
	name := "trace"
	if s.Number >= 0 {
		name = fmt.Sprintf("step %d", s.Number)
	}
	args := []string{arg("gpu_idle_ns", s.Idle), arg("phase", event.Phases[s.Phase])}
	if s.Worst > 0 {
		args = append(args, arg("place_by_idle_time", int64(s.Worst)))
	}
	if s.Left > 0 {
		args = append(args, arg("events_left_out", int64(s.Left)))
	}
	b.add(trackKey{section: steps}, slice{start: s.Start, end: s.Until, name: name, category: "step", args: args})
	for i, g := range slices.Concat(s.Gaps, s.Waits) {
		var args []string
		name, category := g.Cause, "idle"
		if i >= len(s.Gaps) {
			name, category = g.title(), "wait"
		}
		for _, a := range [][2]string{{"site", g.Site}, {"ranges", g.Path}, {"why", g.Why}} {
			if a[1] != "" {
				args = append(args, arg(a[0], clean(a[1])))
			}
		}
		b.add(trackKey{section: waits, id: int64(g.Device)}, slice{start: g.Start, end: g.End, name: clean(name), category: category, args: args})
	}
	places := make([]place, len(s.Events))
	for i := range s.Events {
		places[i] = b.event(s, &s.Events[i])
	}
	for i := range s.Events {
		if launch := s.Events[i].Launch; launch >= 0 {
			b.arrow(places[launch], places[i])
		}
	}
}

// add adds a slice and returns its place.
func (b *builder) add(k trackKey, s slice) place {
	b.tracks[k] = append(b.tracks[k], s)
	return place{k, len(b.tracks[k]) - 1}
}

// event adds an event, unless an earlier step has added it, and returns its place.
func (b *builder) event(s *Step, e *Event) place {
	key := eventKey{keyOf(e), e.Start, e.End, s.Names[e.Name], e.Correlation}
	if at, ok := b.seen[key]; ok {
		return at
	}
	v := slice{start: e.Start, end: e.End, name: clean(key.name), category: e.Kind.String()}
	if e.Class >= 0 {
		v.args = append(v.args, arg("class", e.Class.String()))
	}
	if e.Correlation != None {
		v.args = append(v.args, arg("correlation", e.Correlation))
	}
	if e.Replayed {
		v.args = append(v.args, arg("launched_by", "graph"))
	}
	at := b.add(key.track, v)
	b.seen[key] = at
	return at
}

// keyOf returns the track of an event.
func keyOf(e *Event) trackKey {
	switch {
	case e.Kind.IsGPU():
		return trackKey{streams, int64(e.Device), e.Stream}
	case e.Thread == None:
		return trackKey{section: profiler}
	case e.Kind == event.Run:
		return trackKey{threads, e.Thread, 1}
	}
	return trackKey{section: threads, id: e.Thread}
}

// arrow adds an arrow from a call to the first row that it launched.
func (b *builder) arrow(from, to place) {
	call, row := &b.tracks[from.track][from.index], &b.tracks[to.track][to.index]
	if call.out != 0 || row.in != 0 {
		return
	}
	*b.arrows++
	call.out, row.in = *b.arrows, *b.arrows
}

// finish returns the tracks in order, each with slices that nest.
func (b *builder) finish() (all []track) {
	keys := slices.SortedFunc(maps.Keys(b.tracks), func(x, y trackKey) int {
		return cmp.Or(cmp.Compare(x.section, y.section), cmp.Compare(x.id, y.id), cmp.Compare(x.part, y.part))
	})
	for _, k := range keys {
		rest := b.tracks[k]
		slices.SortStableFunc(rest, func(x, y slice) int { return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(y.end, x.end)) })
		name := k.name()
		for n := 2; len(rest) > 0; n++ {
			var fits []slice
			fits, rest = nest(rest)
			all = append(all, track{name, fits})
			name = fmt.Sprintf("%s (%d)", k.name(), n)
		}
	}
	return all
}

// nest separates the slices that nest from the rest. Of two that overlap without
// nesting, the earlier fits.
func nest(list []slice) (fits, rest []slice) {
	var open []int64 // ends
	for _, s := range list {
		for len(open) > 0 && open[len(open)-1] <= s.start {
			open = open[:len(open)-1]
		}
		if len(open) > 0 && s.end > open[len(open)-1] {
			rest = append(rest, s)
			continue
		}
		open = append(open, s.end)
		fits = append(fits, s)
	}
	return fits, rest
}

// maxName is the longest name, in bytes.
const maxName = 1 << 10

// clean makes a name printable and limits its length.
func clean(name string) string {
	name = table.Printable(name)
	if len(name) <= maxName {
		return name
	}
	cut := maxName - len("…")
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + "…"
}
