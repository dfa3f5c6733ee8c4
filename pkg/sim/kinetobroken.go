package sim

import (
	"maps"
	"slices"
	"strings"
)

// breakage is a way in which real traces of PyTorch's profiler are broken: what stands
// in an event, and what in its place.
type breakage struct{ from, to string }

// breakages are the ways, by name. Of most of them the event is lost to a reader.
var breakages = map[string]breakage{
	"quote":             {`"name": "`, `"name": "a "quoted" `},
	"odd-quote":         {`"name": "`, `"name": "a " `},
	"control":           {`"name": "`, "\"name\": \"\x01\x02\n"},
	"utf8":              {`"name": "`, "\"name\": \"\xff\xfe"},
	"escape":            {`"name": "`, `"name": "\q`},
	"empty-argument":    {`"args": {`, `"args": { "Input type": ,`},
	"nan":               {`"args": {`, `"args": { "occupancy": NaN, "blocks per SM": inf,`},
	"no-time":           {`"ts": `, `"ts": ,"x": `},
	"nan-time":          {`"ts": `, `"ts": NaN, "was": `},
	"text-time":         {`"ts": `, `"ts": "soon", "was": `},
	"huge-time":         {`"ts": `, `"ts": 1e300, "was": `},
	"negative-duration": {`"dur": `, `"dur": -`},
	"twice":             {`"dur": `, `"dur": 5, "dur": `},
	"deep":              {`"args": {`, `"args": { "a": ` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `,`},
	"missing-brace":     {"    }\n  }", "    }\n  "},
	"other-brace":       {"    }\n  }", "    ]\n  }"},
	"uint64":            {`"correlation": `, `"correlation": 18446744073709551615, "was": `},
}

// KinetoBreakages are the names of the ways in which events can be broken, in order.
var KinetoBreakages = slices.Sorted(maps.Keys(breakages))

// brokenEvery is how many events there are for one that is broken.
const brokenEvery = 97

// broken returns an event as it is written, which is broken where it is its turn.
func (k *kinetoWriter) broken(event string) string {
	k.events++
	if k.opt.Broken == "" || k.events%brokenEvery != 0 {
		return event
	}
	b := breakages[k.opt.Broken]
	return strings.Replace(event, b.from, b.to, 1)
}
