package marker

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// presets are the markers with a number for each count, as an expression for [Compile].
// It is compiled when first needed: few commands read markers.
var presets = sync.OnceValue(func() *Set {
	set, err := Compile(strings.Join([]string{
		`^(?:\[Executor\] )?_forward_step(?: (?P<step>\d+))?: (?P<ctx>\d+) ctx reqs, (?:\d+ ctx tokens, )?(?P<gen>\d+) gen reqs`,
		`^execute_new_(?P<ctx>\d+)_cached_(?P<gen>\d+)$`, // the oldest form of vLLM's
		`^execute_(?:\d+_)?context_(?P<ctx>\d+)\([^)]*\)_generation_(?P<gen>\d+)\([^)]*\)$`,
		`^execute_model context_(?P<ctx>\d+)\([^)]*\) generation_(?P<gen>\d+)\([^)]*\)$`, // ATOM's
		`^` + schedulePrefix + `(?P<step>\d+)$`,
	}, "|"))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return set
})

// schedulePrefix begins the steps of the schedule of PyTorch's profiler.
const schedulePrefix = "ProfilerStep#"

// sglang matches SGLang's marker, in which more may follow the size.
var sglang = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^step\[(\w+) bs=(\d+)[\] ]`) })

// parsePreset is [Set.Parse] of the [Presets].
func parsePreset(text string) (Counts, bool) {
	switch { // Fast path: nearly all names are not markers.
	case strings.HasPrefix(text, "step["):
		return parseSGLang(text)
	case strings.HasPrefix(text, "_forward_step"), strings.HasPrefix(text, "[Executor] "), strings.HasPrefix(text, "execute_"), strings.HasPrefix(text, schedulePrefix):
		return presets().Parse(text)
	}
	return Counts{}, false
}

// parseSGLang reads SGLang's marker. For a mixed batch it has only the sum: one request
// is assumed to be a context request. With an unknown mode it is a marker without
// counts.
func parseSGLang(text string) (Counts, bool) {
	m := sglang().FindStringSubmatch(text)
	if m == nil {
		return Counts{}, false
	}
	size, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		return Counts{}, false
	}
	c := Counts{HasCounts: true}
	switch m[1] {
	case "EXTEND", "PREFILL", "SPLIT_PREFILL", "DLLM_EXTEND", "DRAFT_EXTEND", "DRAFT_EXTEND_V2":
		c.Ctx = size
	case "DECODE", "TARGET_VERIFY":
		c.Gen = size
	case "MIXED":
		c.Ctx = min(size, 1)
		c.Gen = size - c.Ctx
	case "IDLE":
	default:
		c.HasCounts = false
	}
	return c, true
}
