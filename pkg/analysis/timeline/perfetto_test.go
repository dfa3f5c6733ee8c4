package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// field is a field of an encoded message.
type field struct {
	number protowire.Number
	value  uint64
	bytes  []byte
}

// fields decodes a message.
func fields(t *testing.T, b []byte) (all []field) {
	t.Helper()
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.value, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d has type %d", number, kind)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		all = append(all, f)
	}
	return all
}

// first returns the first field of a number.
func first(all []field, number protowire.Number) (f field, ok bool) {
	k := slices.IndexFunc(all, func(f field) bool { return f.number == number })
	if k < 0 {
		return f, false
	}
	return all[k], true
}

// decoder reads a Perfetto trace by the numbers of the published schema:
// protos/perfetto/trace/{trace,trace_packet,interned_data}.proto and track_event/*.proto.
type decoder struct {
	t        *testing.T
	interned map[[2]uint64]string // by field of InternedData and number
	tracks   map[uint64]string    // names, with their parents'
	open     map[uint64][]string  // slices that are open, by track
	at       map[uint64]uint64    // time of the last event of a track
	slices   []string
	flows    map[uint64]int
}

func decode(t *testing.T, b []byte) *decoder {
	t.Helper()
	d := &decoder{t, map[[2]uint64]string{}, map[uint64]string{}, map[uint64][]string{}, map[uint64]uint64{}, nil, map[uint64]int{}}
	for i, packet := range fields(t, b) {
		if packet.number != 1 {
			t.Fatalf("Trace has field %d", packet.number)
		}
		d.packet(i, fields(t, packet.bytes))
	}
	for id, open := range d.open {
		if len(open) > 0 {
			t.Errorf("%s: %q does not end", d.tracks[id], open)
		}
	}
	return d
}

func (d *decoder) packet(i int, p []field) {
	flags, _ := first(p, 13)
	if i == 0 && flags.value != 1 {
		d.t.Error("the first packet does not clear the sequence's state")
	}
	if sequence, ok := first(p, 10); !ok || sequence.value == 0 {
		d.t.Error("a packet without a sequence")
	}
	if descriptor, ok := first(p, 60); ok {
		f := fields(d.t, descriptor.bytes)
		id, _ := first(f, 1)
		name, _ := first(f, 2)
		d.tracks[id.value] = string(name.bytes)
		if parent, ok := first(f, 5); ok {
			if d.tracks[parent.value] == "" {
				d.t.Errorf("%s: its parent is not described before", name.bytes)
			}
			d.tracks[id.value] = d.tracks[parent.value] + "/" + string(name.bytes)
		}
	}
	if data, ok := first(p, 12); ok {
		for _, entry := range fields(d.t, data.bytes) {
			f := fields(d.t, entry.bytes)
			id, _ := first(f, 1)
			text, _ := first(f, 2)
			d.interned[[2]uint64{uint64(entry.number), id.value}] = string(text.bytes)
		}
	}
	if e, ok := first(p, 11); ok {
		at, _ := first(p, 8)
		if flags.value != 2 {
			d.t.Error("an event does not say that it needs the sequence's state")
		}
		d.event(at.value, fields(d.t, e.bytes))
	}
}

func (d *decoder) event(at uint64, e []field) {
	track, _ := first(e, 11)
	id := track.value
	if d.tracks[id] == "" || at < d.at[id] || at > math.MaxInt64 {
		d.t.Fatalf("an event at %d after %d on track %q", at, d.at[id], d.tracks[id])
	}
	d.at[id] = at
	kind, _ := first(e, 9)
	if kind.value == 2 {
		n := len(d.open[id]) - 1
		d.slices = append(d.slices, fmt.Sprintf("%s until %d", d.open[id][n], at))
		d.open[id] = d.open[id][:n]
		return
	}
	name, _ := first(e, 10)
	category, _ := first(e, 3)
	text := fmt.Sprintf("%s: %s %q from %d", d.tracks[id], d.interned[[2]uint64{1, category.value}], d.interned[[2]uint64{2, name.value}], at)
	for _, f := range e {
		switch f.number {
		case 4:
			a := fields(d.t, f.bytes)
			key, _ := first(a, 1)
			value := ""
			if s, ok := first(a, 6); ok {
				value = fmt.Sprintf("%q", s.bytes)
			} else if n, ok := first(a, 4); ok {
				value = fmt.Sprint(int64(n.value))
			}
			text += fmt.Sprintf(" %s=%s", d.interned[[2]uint64{3, key.value}], value)
		case 47:
			d.flows[f.value]++
		case 48:
			d.flows[f.value] += 1000
		}
	}
	d.open[id] = append(d.open[id], text)
}

// steps returns two steps of two ranks, with names that nobody should have.
func stepsOf() *Timeline {
	const none = None
	hostile := "</script>\"\n\x1b[31m\xff" + strings.Repeat("é", 2000)
	s := &Step{
		Number: 4, Phase: event.Generation, Start: -100, Until: 900, Idle: 300, Worst: 1, Left: 7,
		Names: []string{"outer", "cudaLaunchKernel", "gemm", hostile},
		Events: []Event{
			{Start: -200, End: 1500, Kind: event.NVTX, Class: event.Range, Name: 0, Thread: 7, Stream: none, Correlation: none, Launch: -1},
			{Start: -150, End: -120, Kind: event.API, Class: event.Launch, Name: 1, Thread: 7, Stream: none, Correlation: 11, Launch: -1},
			{Start: 0, End: 300, Kind: event.Kernel, Class: event.GEMM, Name: 2, Thread: none, Stream: 13, Correlation: 11, Launch: 1},
			{Start: 200, End: 400, Kind: event.Kernel, Class: event.GEMM, Name: 2, Thread: none, Stream: 13, Correlation: 11, Launch: 1, Replayed: true},
			{Start: 250, End: 250, Kind: event.API, Class: -1, Name: 3, Thread: 7, Stream: none, Correlation: none, Launch: -1},
			{Start: 300, End: 600, Kind: event.Overhead, Class: event.ByProfiler, Name: 3, Thread: none, Stream: none, Correlation: none, Launch: -1},
		},
		Gaps: []Gap{
			{Start: 400, End: 900, Cause: "host:" + hostile, Path: "outer > inner", Why: "running"},
			{Start: -100, End: 0, Cause: "launch", Site: "cudaLaunchKernel"},
		},
	}
	next := &Step{
		Number: 5, Phase: event.Unknown, Start: 900, Until: 1600, Names: s.Names,
		Events: []Event{s.Events[0], {Start: 1600, End: 1700, Kind: event.Run, Class: -1, Name: 0, Thread: 7, Stream: none, Correlation: none, Launch: -1}},
	}
	other := &Step{Rank: 1, Number: -1, Start: 0, Until: 10, Names: s.Names}
	return &Timeline{Steps: []*Step{s, next, other}, Seen: 9}
}

// TestProto decodes what is written: all slices are there, once, on their tracks, nested
// as they are, with their arrows.
func TestProto(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, stepsOf()); err != nil {
		t.Fatal(err)
	}
	d := decode(t, b.Bytes())
	got := strings.Join(d.slices, "\n")
	if !utf8.ValidString(got) {
		t.Error("not all names are UTF-8")
	}
	for _, want := range []string{
		`rank 0/steps: step "step 4" from 100 gpu_idle_ns=300 phase="generation" place_by_idle_time=1 events_left_out=7 until 1100`,
		`rank 0/steps: step "step 5" from 1100 gpu_idle_ns=0 phase="unknown" until 1800`,
		`rank 0/GPU 0 waits for: idle "launch" from 100 site="cudaLaunchKernel" until 200`,
		`ranges="outer > inner" why="running" until 1100`,
		`rank 0/GPU 0, stream 13: kernel "gemm" from 200 class="gemm" correlation=11 until 500`,
		`rank 0/GPU 0, stream 13 (2): kernel "gemm" from 400 class="gemm" correlation=11 launched_by="graph" until 600`,
		`rank 0/thread 7: nvtx "outer" from 0 class="range" until 1700`,
		`rank 0/thread 7: api "cudaLaunchKernel" from 50 class="launch" correlation=11 until 80`,
		`rank 0/thread 7, CPU: run "outer" from 1800 until 1900`,
		`rank 0/profiler: overhead`,
		`rank 1/steps: step "trace" from 200`,
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is there %d times", want, strings.Count(got, want))
		}
	}
	if len(d.slices) != 12 || len(d.flows) != 1 || d.flows[1] != 1001 {
		t.Errorf("%d slices, arrows %v\n%s", len(d.slices), d.flows, got)
	}
}

// TestJSON parses the other format: it says the same.
func TestJSON(t *testing.T) {
	var b, proto bytes.Buffer
	if err := WriteJSON(&b, stepsOf()); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		TraceEvents []struct {
			Ph, Name, Cat string
			Pid, Tid      int
			Ts, Dur       json.Number
			ID            int
			Args          map[string]any
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	count, tracks := map[string]int{}, map[[2]int]string{}
	var got []string
	for _, e := range doc.TraceEvents {
		count[e.Ph]++
		switch {
		case e.Ph == "M" && e.Name == "process_name":
			tracks[[2]int{e.Pid, -1}] = e.Args["name"].(string)
		case e.Ph == "M" && e.Name == "thread_name":
			tracks[[2]int{e.Pid, e.Tid}] = e.Args["name"].(string)
		case e.Ph == "X":
			start, err := e.Ts.Float64()
			length, err2 := e.Dur.Float64()
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			got = append(got, fmt.Sprintf("%s/%s: %s %q %.0f %.0f", tracks[[2]int{e.Pid, -1}], tracks[[2]int{e.Pid, e.Tid}], e.Cat, e.Name, 1000*start, 1000*(start+length)))
		}
	}
	if err := Write(&proto, stepsOf()); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range decode(t, proto.Bytes()).slices {
		head, rest, _ := strings.Cut(s, " from ")
		var from, until string
		fmt.Sscan(rest, &from)
		until = rest[strings.LastIndexByte(rest, ' ')+1:]
		want = append(want, head+" "+from+" "+until)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if count["s"] != 1 || count["f"] != 1 || bytes.Contains(b.Bytes(), []byte("</script>")) || !utf8.Valid(b.Bytes()) {
		t.Errorf("%v, or hostile bytes", count)
	}
	b.Reset()
	if err := WriteJSON(&b, &Timeline{}); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("no steps: %v, %s", err, b.Bytes())
	}
}
