package cudaname

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// API returns the canonical form of a recorded CUDA API name. It has no suffix of the
// per-thread default stream (_ptsz, _ptds) and no version. A version is _v and four or
// more digits for the runtime (cuda…), and _v and one digit for the driver (cu…):
//
//	cudaLaunchKernel_ptsz_v7000       cudaLaunchKernel
//	cuMemcpyHtoDAsync_v2_ptsz         cuMemcpyHtoDAsync
//	cudaStreamGetCaptureInfo_v2_v11030  cudaStreamGetCaptureInfo_v2
//
// The _v2 of a runtime name stays, because it distinguishes two calls. A name that does
// not start with cu, or is canonical already, is returned unchanged. The result shares
// the memory of name, except for a name with a stream suffix before a version that
// stays.
func API(name string) string {
	if !strings.HasPrefix(name, "cu") {
		return name
	}
	runtime := strings.HasPrefix(name, "cuda")
	for {
		rest, version := cutVersion(name)
		unmarked, marked := cutStreamMark(rest)
		strip := version != "" && versionGoes(version, runtime)
		switch {
		case strip && marked:
			name = unmarked
		case strip:
			name = rest
		case marked:
			name = unmarked + version
		default:
			return name
		}
	}
}

// cutVersion splits name before a final _v and digits; version is "" if there are none.
func cutVersion(name string) (rest, version string) {
	i := len(name)
	for i > 0 && isDigit(name[i-1]) {
		i--
	}
	if i == len(name) || !strings.HasSuffix(name[:i], "_v") {
		return name, ""
	}
	return name[:i-2], name[i-2:]
}

// versionGoes reports whether the canonical form omits version, "_v" and digits.
func versionGoes(version string, runtime bool) bool {
	digits := len(version) - len("_v")
	if runtime {
		return digits >= 4
	}
	return digits == 1
}

// cutStreamMark removes the suffix of the per-thread default stream from a name.
func cutStreamMark(name string) (string, bool) {
	if s, ok := strings.CutSuffix(name, "_ptsz"); ok {
		return s, true
	}
	return strings.CutSuffix(name, "_ptds")
}

// isDigit reports whether c is an ASCII digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// ClassAPI returns the class of an API call, by its canonical name: launch, graph_launch,
// sync, memop, alloc or other. The package comment has the table.
func ClassAPI(canonical string) event.Class {
	switch {
	case listed("launch", canonical):
		return event.Launch
	case canonical == "cudaGraphLaunch", canonical == "cuGraphLaunch", canonical == "hipGraphLaunch":
		return event.GraphLaunch
	}
	call, ok := cutAPI(canonical)
	switch {
	case !ok:
		return event.Other
	case strings.HasSuffix(call, "Synchronize"):
		return event.APISync
	case strings.HasPrefix(call, "Memcpy"), strings.HasPrefix(call, "Memset"):
		return event.Memop
	case listed("alloc", call):
		return event.Alloc
	}
	return event.Other
}

// cutAPI removes the prefix of the API (cuda, cu, hip) from the name of a call.
func cutAPI(canonical string) (call string, ok bool) {
	for _, api := range [...]string{"cuda", "cu", "hip"} {
		if call, ok = strings.CutPrefix(canonical, api); ok {
			return call, true
		}
	}
	return canonical, false
}

// listed reports whether a call is on a list of names.toml, or begins like one on the list
// of beginnings of that name.
func listed(list, call string) bool {
	return known().calls[list][call] || slices.ContainsFunc(known().begin[list], func(p string) bool { return strings.HasPrefix(call, p) })
}
