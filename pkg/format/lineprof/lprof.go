package lineprof

import (
	"errors"
	"io"
	"math"
	"slices"
)

const pickleHint = "write it again (kernprof, or dump_stats), or give the text that line_profiler printed"

// readPickle reads a .lprof file into memory. Any error is the file's fault.
func readPickle(name string, r io.Reader) (*Profile, error) {
	in, err := io.ReadAll(io.LimitReader(r, maxPickle+1))
	if err != nil {
		return nil, err
	}
	if len(in) > maxPickle {
		return nil, &Error{Name: name, Msg: "a pickle of more than 64 MiB", Hint: pickleHint}
	}
	v, err := unpickle(in)
	if err == nil {
		var p *Profile
		if p, err = fromPickle(name, v); err == nil {
			return p, nil
		}
	}
	return nil, &Error{Name: name, Msg: "not a whole .lprof file: " + err.Error(), Hint: pickleHint}
}

// fromPickle checks the shape of an unpickled LineStats.
func fromPickle(name string, v any) (*Profile, error) {
	r, ok := v.(*record)
	if !ok {
		return nil, errors.New("the pickle is of something else than line_profiler's LineStats")
	}
	state, ok := r.state.(*dict)
	if !ok {
		return nil, errShape
	}
	timings, ok := state.get("timings").(*dict)
	unit, okUnit := toFloat(state.get("unit"))
	if !ok || !okUnit || !(unit > 0 && unit <= 1e6) {
		return nil, errors.New("no timings with a unit in it")
	}
	p := &Profile{Name: name, Format: Pickle, Unit: unit, Runs: 1}
	for i := 0; i+1 < len(timings.items); i += 2 {
		f, err := functionOf(timings.items[i], timings.items[i+1], unit)
		if err != nil {
			return nil, err
		}
		p.Functions = append(p.Functions, f)
	}
	return p, nil
}

// get returns the value of a key, nil if there is none.
func (d *dict) get(key string) any {
	for i := 0; i+1 < len(d.items); i += 2 {
		if d.items[i] == any(key) {
			return d.items[i+1]
		}
	}
	return nil
}

// functionOf returns a function from its entry in the timings. Its total is the
// saturated sum of its lines, which are sorted by number.
func functionOf(key, value any, unit float64) (*Function, error) {
	k, ok := key.(tuple)
	l, ok2 := value.(*list)
	if !ok || !ok2 || len(k) != 3 {
		return nil, errShape
	}
	path, ok := k[0].(string)
	line, ok2 := k[1].(int64)
	name, ok3 := k[2].(string)
	if !ok || !ok2 || !ok3 || line < 0 || line > math.MaxInt32 {
		return nil, errShape
	}
	f := &Function{Name: name, File: Reduce(path), Line: int(line), path: path, SelfNs: -1, Calls: -1}
	for _, item := range l.items {
		one, err := lineOf(item, unit)
		if err != nil {
			return nil, err
		}
		f.Lines = append(f.Lines, one)
		f.Ns = Add(f.Ns, one.Ns)
	}
	slices.SortStableFunc(f.Lines, func(a, b Line) int { return a.Number - b.Number })
	return f, nil
}

// lineOf returns a line from its (number, hits, time), where time is in units of unit
// seconds.
func lineOf(item any, unit float64) (l Line, err error) {
	t, ok := item.(tuple)
	if !ok || len(t) != 3 {
		return l, errShape
	}
	number, ok := t[0].(int64)
	hits, ok2 := t[1].(int64)
	if !ok || !ok2 || number < 0 || number > math.MaxInt32 || hits < 0 {
		return l, errShape
	}
	time, ok := toFloat(t[2])
	if !ok || math.IsNaN(time) {
		return l, errShape
	}
	return Line{Number: int(number), Hits: min(hits, most), Time: Exact, Ns: roundNs(time * scaleOf(unit))}, nil
}

// toFloat returns a number of either kind.
func toFloat(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	}
	return 0, false
}
