package lineprof

import "strings"

// roots are directories of public packages: from their name on, a path holds nothing
// private.
var roots = map[string]bool{
	"tensorrt_llm": true, "vllm": true, "sglang": true, "torch": true, "transformers": true,
	"flashinfer": true, "flash_attn": true, "triton": true, "xformers": true, "deepspeed": true,
	"megatron": true, "accelerate": true, "diffusers": true, "lightning": true, "numpy": true,
}

// Reduce returns the part of a path that names no person and no machine: the part after
// site-packages or dist-packages, else from the last directory of a known package on,
// else the base name. Names in angle brackets are kept.
func Reduce(path string) string {
	if strings.HasPrefix(path, "<") {
		return path
	}
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	if len(parts) == 0 {
		return ""
	}
	from := len(parts) - 1
	for i := len(parts) - 2; i >= 0; i-- {
		if parts[i] == "site-packages" || parts[i] == "dist-packages" {
			from = i + 1
			break
		}
		// A home directory may have the name of a package.
		if roots[parts[i]] && from == len(parts)-1 && (i == 0 || !homes[parts[i-1]]) {
			from = i
		}
	}
	return strings.Join(parts[from:], "/")
}

// homes are directories whose entries are people's names.
var homes = map[string]bool{"home": true, "Users": true, "users": true}

// base returns the last part of a Unix or Windows path.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }
