package gap

import (
	"slices"
	"strings"
)

// viewOps are the operations of PyTorch that give a tensor another shape or type
// and leave its data where it is, as their ranges are called.
var viewOps = []string{
	"view", "view_as", "_unsafe_view", "reshape", "reshape_as", "_reshape_alias", "slice", "select", "narrow",
	"transpose", "permute", "t", "expand", "expand_as", "squeeze", "unsqueeze", "flatten", "unflatten", "split",
	"split_with_sizes", "chunk", "unbind", "as_strided", "alias", "detach", "detach_", "to", "_to_copy",
	"contiguous", "movedim", "empty", "empty_like", "empty_strided", "resize_", "lift_fresh",
}

// flagsOf tells what a name says about itself.
func flagsOf(s string) (f flag) {
	if op, ok := strings.CutPrefix(s, "aten::"); ok {
		op, _, _ = strings.Cut(op, ",")
		if slices.Contains(viewOps, op) {
			f |= viewOp
		}
	}
	call, ok := strings.CutPrefix(s, "cuda")
	if !ok {
		if call, ok = strings.CutPrefix(s, "cu"); !ok {
			return f
		}
	}
	switch {
	case strings.HasPrefix(call, "Memcpy") && !strings.Contains(call, "Async"):
		f |= blocking
	case strings.HasPrefix(call, "ModuleLoad"), strings.HasPrefix(call, "LibraryLoad"), strings.HasPrefix(call, "Link"):
		f |= objects | loads
	case isObject(call):
		f |= objects
	}
	return f
}

// isObject tells calls that make or drop memory, streams, events or code from
// those of their class that are cheap (recording an event, asking how much memory
// is free). call has no cuda or cu in front.
func isObject(call string) bool {
	if call == "MallocAsync" || call == "FreeAsync" || call == "MemAllocAsync" || call == "MemFreeAsync" ||
		call == "MallocFromPoolAsync" || call == "MemAllocFromPoolAsync" {
		return false // out of a pool: as cheap as a launch
	}
	for _, p := range []string{
		"Malloc", "Free", "HostAlloc", "HostRegister", "HostUnregister", "MemAlloc", "MemFree", "MemHostAlloc",
		"MemHostRegister", "MemHostUnregister", "MemCreate", "MemMap", "MemUnmap", "MemRelease", "MemSetAccess",
		"MemAddress", "MemPoolTrim", "EventCreate", "StreamCreate", "StreamDestroy", "ModuleUnload", "LibraryUnload",
	} {
		if strings.HasPrefix(call, p) {
			return true
		}
	}
	return false
}
