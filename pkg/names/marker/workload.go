package marker

import (
	"regexp"
	"strings"
)

var (
	// backward matches the names that autograd, operators and users give to a backward
	// pass: AddmmBackward0, aten::native_layer_norm_backward, ## backward ##.
	backward  = regexp.MustCompile(`Backward|(?:^|[^A-Za-z])backward(?:$|[^A-Za-z])`)
	optimizer = regexp.MustCompile(`(?i)^optimizer[._ -](?:step|zero_grad)\b`)
)

// Trains reports whether a range or operator with this text belongs to a backward pass
// or an optimizer, which only training has.
func Trains(text string) bool {
	switch {
	case strings.Contains(text, "autograd::"):
		return true
	case strings.Contains(text, "ackward"): // Fast path: few other texts contain it.
		return backward.MatchString(text)
	}
	return len(text) > 0 && text[0]|0x20 == 'o' && optimizer.MatchString(text)
}

// Diffuses reports whether a range with this text belongs to a diffusion model, such as
// xDiT's execute_diffusion_1_256x256.
func Diffuses(text string) bool {
	return strings.Contains(text, "iffusion") && containsFold(text, "diffusion") ||
		strings.Contains(text, "enois") && containsFold(text, "denois")
}

// almost matches the beginnings of forward-step markers of all forms, up to the number
// of a step or of its requests.
var almost = regexp.MustCompile(`^(?:(?:\[\w+\] ?)?_?forward_step\W+\d|execute_(?:\w+_)?(?:context|new|generation|cached)_\d|execute_model (?:context|generation)_|step\[.*\bbs=)`)

// Almost reports whether the text of a range begins like a forward-step marker but is
// none of the presets.
func Almost(text string) bool {
	_, known := parsePreset(text)
	return !known && almost.MatchString(text)
}

// AlmostText is the warning about ranges that are [Almost] markers.
const AlmostText = "some ranges begin like forward-step markers, but continue in an unknown form: without --marker they mark no step"

// containsFold reports whether text contains part, which is in lower case, ignoring
// case.
func containsFold(text, part string) bool { return strings.Contains(strings.ToLower(text), part) }
