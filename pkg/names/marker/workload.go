package marker

import (
	"regexp"
	"strings"
)

var (
	// backward matches the words that autograd's functions and operators, and people, name a
	// backward pass with: AddmmBackward0, aten::native_layer_norm_backward, ## backward ##.
	backward  = regexp.MustCompile(`Backward|(?:^|[^A-Za-z])backward(?:$|[^A-Za-z])`)
	optimizer = regexp.MustCompile(`(?i)^optimizer[._ -](?:step|zero_grad)\b`)
)

// Trains reports whether the text of a range or an operator is one of a backward pass or an
// optimizer, which only training has.
func Trains(text string) bool {
	switch {
	case strings.Contains(text, "autograd::"):
		return true
	case strings.Contains(text, "ackward"): // Fast path: few others do.
		return backward.MatchString(text)
	}
	return len(text) > 0 && text[0]|0x20 == 'o' && optimizer.MatchString(text)
}

// Diffuses reports whether the text of a range is one of a diffusion model, as xDiT's
// execute_diffusion_1_256x256 is.
func Diffuses(text string) bool {
	return strings.Contains(text, "iffusion") && containsFold(text, "diffusion") ||
		strings.Contains(text, "enois") && containsFold(text, "denois")
}

// almost matches how forward-step markers begin, in any wording: the number of a step or of its
// requests follows.
var almost = regexp.MustCompile(`^(?:(?:\[\w+\] ?)?_?forward_step\W+\d|execute_(?:\w+_)?(?:context|new|generation|cached)_\d|execute_model (?:context|generation)_|step\[.*\bbs=)`)

// Almost reports whether the text of a range begins as a forward-step marker does and is none
// of the presets.
func Almost(text string) bool {
	_, known := parsePreset(text)
	return !known && almost.MatchString(text)
}

// AlmostText warns of ranges that are [Almost] markers.
const AlmostText = "some ranges begin like forward-step markers, but continue in an unknown form: without --marker they mark no step"

// containsFold reports whether a text has a part that is in lower case, in any case.
func containsFold(text, part string) bool { return strings.Contains(strings.ToLower(text), part) }
