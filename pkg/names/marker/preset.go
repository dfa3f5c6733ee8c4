package marker

import (
	"math"
	"strings"
)

// parsePreset tries the engine that text's first byte points to, so that one of
// the many names that are no marker costs a comparison or two.
func parsePreset(text string) (Counts, bool) {
	if text == "" {
		return Counts{}, false
	}
	switch text[0] {
	case '[', '_':
		return parseTensorRT(text)
	case 'e':
		return parseVLLM(text)
	case 's':
		return parseSGLang(text)
	case 'P':
		return parseSchedule(text)
	}
	return Counts{}, false
}

// schedulePrefix is what the steps of the schedule of PyTorch's profiler begin with.
const schedulePrefix = "ProfilerStep#"

// parseSchedule reads the step of PyTorch's own schedule, "ProfilerStep#12", which says
// nothing of requests.
func parseSchedule(text string) (c Counts, ok bool) {
	s, ok := strings.CutPrefix(text, schedulePrefix)
	if !ok {
		return Counts{}, false
	}
	if c.Step, s, ok = number(s); !ok || s != "" {
		return Counts{}, false
	}
	c.HasStep = true
	return c, true
}

// parseTensorRT reads the wordings of TensorRT-LLM, old and new:
//
//	_forward_step: 0 ctx reqs, 4 gen reqs
//	[Executor] _forward_step 7: 2 ctx reqs, 512 ctx tokens, 4 gen reqs
//
// What follows the generation requests may be anything.
func parseTensorRT(text string) (c Counts, ok bool) {
	s := strings.TrimPrefix(text, "[Executor] ")
	if s, ok = strings.CutPrefix(s, "_forward_step"); !ok {
		return Counts{}, false
	}
	if t, found := strings.CutPrefix(s, " "); found {
		if c.Step, s, ok = number(t); !ok {
			return Counts{}, false
		}
		c.HasStep = true
	}
	if s, ok = strings.CutPrefix(s, ": "); !ok {
		return Counts{}, false
	}
	if c.Ctx, s, ok = number(s); !ok {
		return Counts{}, false
	}
	if s, ok = strings.CutPrefix(s, " ctx reqs, "); !ok {
		return Counts{}, false
	}
	// Here stand the tokens or the generation requests.
	if t, found := strings.CutPrefix(skipDigits(s), " ctx tokens, "); found && len(t) < len(s)-len(" ctx tokens, ") {
		s = t
	}
	if c.Gen, s, ok = number(s); !ok {
		return Counts{}, false
	}
	if !strings.HasPrefix(s, " gen reqs") {
		return Counts{}, false
	}
	c.HasCounts = true
	return c, true
}

// parseVLLM reads the wordings of vLLM, and of what follows it:
//
//	execute_new_2_cached_4
//	execute_6_context_2(512)_generation_4(4)
//	execute_model context_2(512) generation_4(4)
//
// The numbers in parentheses are tokens, which are passed over.
func parseVLLM(text string) (c Counts, ok bool) {
	s, ok := strings.CutPrefix(text, "execute_")
	if !ok {
		return Counts{}, false
	}
	if t, ok := strings.CutPrefix(s, "new_"); ok { // the oldest wording
		return parseCounts(t, "", "_cached_", false)
	}
	if t, ok := strings.CutPrefix(s, "model "); ok { // ATOM's
		return parseCounts(t, "context_", " generation_", true)
	}
	if t := skipDigits(s); len(t) < len(s) { // the newer wording's total
		if s, ok = strings.CutPrefix(t, "_"); !ok {
			return Counts{}, false
		}
	}
	return parseCounts(s, "context_", "_generation_", true)
}

// parseCounts reads two numbers, each after a text and, where there are any, before
// parentheses.
func parseCounts(s, ctx, gen string, parentheses bool) (c Counts, ok bool) {
	for _, n := range []struct {
		before string
		to     *int64
	}{{ctx, &c.Ctx}, {gen, &c.Gen}} {
		if s, ok = strings.CutPrefix(s, n.before); !ok {
			return Counts{}, false
		}
		if *n.to, s, ok = number(s); !ok {
			return Counts{}, false
		}
		if !parentheses {
			continue
		}
		if s, ok = skipParenthesis(s); !ok {
			return Counts{}, false
		}
	}
	if s != "" {
		return Counts{}, false
	}
	c.HasCounts = true
	return c, true
}

// parseSGLang reads SGLang's wording, "step[DECODE bs=4]", in which more may follow the
// size. Of a mixed batch it says no more than the sum: one request is taken for the context's.
// A mode that is not known makes a marker all the same, without counts.
func parseSGLang(text string) (Counts, bool) {
	s, ok := strings.CutPrefix(text, "step[")
	if !ok {
		return Counts{}, false
	}
	mode, s, ok := strings.Cut(s, " bs=")
	if !ok || !isWord(mode) {
		return Counts{}, false
	}
	size, s, ok := number(s)
	if !ok || s == "" || s[0] != ']' && s[0] != ' ' {
		return Counts{}, false
	}
	c := Counts{HasCounts: true}
	switch mode {
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

// number reads the digits that s starts with. There must be one, and the number
// must fit.
func number(s string) (n int64, rest string, ok bool) {
	i := 0
	for ; i < len(s) && isDigit(s[i]); i++ {
		digit := int64(s[i] - '0')
		if n > (math.MaxInt64-digit)/10 {
			return 0, s, false
		}
		n = n*10 + digit
	}
	return n, s[i:], i > 0
}

// skipDigits is s without the digits that it starts with.
func skipDigits(s string) string {
	for s != "" && isDigit(s[0]) {
		s = s[1:]
	}
	return s
}

// skipParenthesis skips a parenthesis that s starts with and that has none inside.
func skipParenthesis(s string) (rest string, ok bool) {
	if !strings.HasPrefix(s, "(") {
		return s, false
	}
	_, rest, ok = strings.Cut(s, ")")
	return rest, ok
}

// isWord reports whether s is ASCII letters, digits and underscores, one at least.
func isWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isDigit(c) && c != '_' && (c|0x20 < 'a' || 'z' < c|0x20) {
			return false
		}
	}
	return s != ""
}

// isDigit reports whether c is an ASCII digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
