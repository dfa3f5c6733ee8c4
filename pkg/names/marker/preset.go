package marker

import (
	"math"
	"strings"
)

// parsePreset tries the engine that the first byte of text suggests, so that the many
// names that are not markers cost a comparison or two.
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

// schedulePrefix begins the steps of the schedule of PyTorch's profiler.
const schedulePrefix = "ProfilerStep#"

// parseSchedule reads a step of PyTorch's own schedule, "ProfilerStep#12", which has no
// counts.
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

// parseTensorRT reads the markers of TensorRT-LLM, old and new:
//
//	_forward_step: 0 ctx reqs, 4 gen reqs
//	[Executor] _forward_step 7: 2 ctx reqs, 512 ctx tokens, 4 gen reqs
//
// Anything may follow the generation requests.
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
	// The tokens or the generation requests follow.
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

// parseVLLM reads the markers of vLLM, and ATOM's:
//
//	execute_new_2_cached_4
//	execute_6_context_2(512)_generation_4(4)
//	execute_model context_2(512) generation_4(4)
//
// The numbers in parentheses are tokens, which are skipped.
func parseVLLM(text string) (c Counts, ok bool) {
	s, ok := strings.CutPrefix(text, "execute_")
	if !ok {
		return Counts{}, false
	}
	if t, ok := strings.CutPrefix(s, "new_"); ok { // the oldest form
		return parseCounts(t, "", "_cached_", false)
	}
	if t, ok := strings.CutPrefix(s, "model "); ok { // ATOM's
		return parseCounts(t, "context_", " generation_", true)
	}
	if t := skipDigits(s); len(t) < len(s) { // the total of the newer form
		if s, ok = strings.CutPrefix(t, "_"); !ok {
			return Counts{}, false
		}
	}
	return parseCounts(s, "context_", "_generation_", true)
}

// parseCounts reads two numbers, each after its text, and if parentheses is set,
// followed by parentheses. Nothing may follow.
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

// parseSGLang reads SGLang's marker, "step[DECODE bs=4]", in which more may follow the
// size. For a mixed batch it has only the sum: one request is assumed to be a context
// request. With an unknown mode it is a marker without counts.
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

// number reads the digits with which s begins. There must be at least one, and the
// number must fit in an int64.
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

// skipDigits returns s without its leading digits.
func skipDigits(s string) string {
	for s != "" && isDigit(s[0]) {
		s = s[1:]
	}
	return s
}

// skipParenthesis skips the parentheses with which s begins, which must not be nested.
func skipParenthesis(s string) (rest string, ok bool) {
	if !strings.HasPrefix(s, "(") {
		return s, false
	}
	_, rest, ok = strings.Cut(s, ")")
	return rest, ok
}

// isWord reports whether s consists of ASCII letters, digits and underscores, at least
// one.
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
