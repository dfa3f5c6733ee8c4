package lineprof

import "strings"

// roots are directories after which, with their own name kept, nothing of a path is
// private: packages that anyone can have.
var roots = map[string]bool{
	"tensorrt_llm": true, "vllm": true, "sglang": true, "torch": true, "transformers": true,
	"flashinfer": true, "flash_attn": true, "triton": true, "xformers": true, "deepspeed": true,
	"megatron": true, "accelerate": true, "diffusers": true, "lightning": true, "numpy": true,
}

// Reduce leaves of a path what names no person and no place: the part after
// site-packages or dist-packages, else from the last directory that is a known
// package's, else the base name. Names in angle brackets stay.
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
		// A home directory may be named as a package is.
		if roots[parts[i]] && from == len(parts)-1 && (i == 0 || !homes[parts[i-1]]) {
			from = i
		}
	}
	return strings.Join(parts[from:], "/")
}

// homes are directories of which every entry is a person's.
var homes = map[string]bool{"home": true, "Users": true, "users": true}

// base is the last part of a path of either kind.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }
