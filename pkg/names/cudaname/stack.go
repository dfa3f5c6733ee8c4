// Functions in the stacks of host threads are named, and assigned to a family: the kind
// of work that a thread does inside them.
//
// # Frames
//
// A frame is named by its function, or if that is unknown, by its module in brackets:
// only the base name of the file, because paths contain names of users. Addresses are
// left out, because they differ between runs. What the profiler puts in place of a
// function is in brackets, too ([Max depth], [Broken backtraces], [Unknown]). The
// interpreter's loop is followed by " [python]": it runs a Python function whose name no
// native stack has. Of functions that Python itself names to profilers (py::NAME:FILE),
// the name and the base name of the file remain.
//
// # Families
//
// The family of a stack is that of its leaf, except that garbage collection and waits
// for the interpreter lock include whatever they call. The first matching entry of the
// table decides. Entries match the function, the base name of the module, or both.
//
// # Rejected
//
// Assigning a leaf in libc to its caller: three of four samples have no callers. Naming
// a function without symbols by its interpreter alone: where Python is stripped, most of
// the collector has no symbols; see [Collectors].

package cudaname

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// family is an entry of the table: the functions, or the modules, of a family.
type family struct {
	family    event.Class
	functions *regexp.Regexp // nil for any
	modules   *regexp.Regexp // nil for any
	inside    bool           // also holds for what they call
}

func match(expr string) *regexp.Regexp { return regexp.MustCompile(expr) }

// families are in the order in which they are tried. They are compiled when a stack is
// first examined: most recordings have none.
var families = sync.OnceValue(func() []family {
	return []family{
		// CPython's collector (3.8 to 3.14): the entry points, and the functions called
		// for each object. These include the types' own functions that list references,
		// which only the collector calls.
		{event.GC, match(`^_?(PyGC_|gc_(collect|select|mark|list|visit|decref)|collect(_main|_with_callback|_generations)?$|visit_(decref|reachable|move)|subtract_refs|deduce_unreachable|` +
			`move_unreachable|move_legacy|has_legacy|update_refs|delete_garbage|clear_unreachable|untrack_(tuples|dicts)|handle_(weakrefs|legacy|resurrected)|finalize_garbage|` +
			`mark_(all_reachable|stacks|reachable|global)|expand_region|PyObject_Visit(Instance|Managed)|Py(Tuple|Dict)_MaybeUntrack|\w+_tp_clear(\.|$)|\w+traverse(\.|$))`), match(`python|^$`), true},
		{event.GIL, match(`^(take_gil|drop_gil|create_gil|_?PyEval_(RestoreThread|AcquireThread|AcquireLock)|PyGILState_Ensure)`), nil, true},
		{event.ByProfiler, nil, match(`^(libcupti|libToolsInjection|libnsys|libInterceptor|libnvperf|libAgent|nsys)`), false},
		{event.OSKernel, nil, match(`^\[?(kernel\.kallsyms|vmlinux|guest\.kernel)`), false},
		{event.JIT, nil, match(`^(libnvrtc|libnvJitLink|libnvptxcompiler|libnvidia-ptxjitcompiler|libnvvm|libLLVM|libtriton|libclang|libtvm|libmlir|libtinyjit)`), false},
		{event.NCCL, nil, match(`^(libnccl|librccl|libnvshmem)`), false},
		{event.NCCL, match(`^p?nccl[A-Z]`), nil, false},
		{event.CUDALibrary, nil, match(`^(libcuda|libcublas|libcudnn|libcufft|libcurand|libcusparse|libcusolver|libnvidia-|libnvinfer|libnvToolsExt|libnvtx|libcutensor|libcufile|libnvml)`), false},
		{event.CUDALibrary, match(`^(libcudart_static_|cuda[A-Z]|cu[A-Z][a-z]+[A-Z_])`), nil, false},
		{event.Tokenizer, nil, match(`^(tokenizers|libtokenizers|tiktoken|_tiktoken|libsentencepiece|_sentencepiece|xgrammar|libxgrammar|outlines_core|llguidance|_lowlevel_llguidance)`), false},
		{event.Alloc, match(`^(__libc_)?(malloc|calloc|realloc|free|cfree|memalign|posix_memalign|aligned_alloc)$|^_int_(malloc|free|realloc|memalign)|^(malloc_consolidate|sysmalloc|unlink_chunk|tcache_|systrim|arena_get|mremap_chunk)|^(je_|tc_|mi_)(malloc|free|calloc|realloc|new|delete)|^operator (new|delete)|^_?Py(Object|Mem)_(Malloc|Calloc|Realloc|Free|RawMalloc|RawFree)|^(pymalloc_|_PyMem_|arena_)`), nil, false},
		{event.Alloc, nil, match(`^lib(jemalloc|tcmalloc|mimalloc)`), false},
		{event.Torch, nil, match(`^(libtorch|libc10|_C\.|libshm|libcaffe2|libkineto|libaoti)`), false},
		{event.Interpreter, nil, match(`^(libpython|python[23]?(\.[0-9]+)?(t|d|m)?(\.exe)?$)`), false},
		{event.Interpreter, match(`^(_?Py[A-Z]|_Py_|py::|_PyEval|method_vectorcall|cfunction_)`), nil, false},
		{event.Libc, nil, match(`^(libc|libm|libpthread|libdl|librt|ld|ld-linux[-\w]*|ld-musl[-\w]*|libstdc\+\+|libgcc_s|libgomp|libiomp5|libmvec)[-.]|^\[vdso\]$|^\[vsyscall\]$`), false},
	}
})

// Collectors reports whether only the garbage collector calls a function of Python.
// These functions keep their names when Python's own symbols are stripped. Their caller,
// which then has no name, is part of the collector, too. (CPython 3.8 to 3.14,
// Modules/gcmodule.c and Python/gc.c.)
func Collectors(function string) bool { return collectors.MatchString(function) }

var collectors = match(`^_?Py(Object_Visit(Instance|Managed)|(Tuple|Dict)_MaybeUntrack)`)

// Module returns the base name of a module's path.
func Module(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// Family returns the family of a function in a module, which may be a path, and whether
// it includes all that the function calls. function is "" if unknown. The family is
// event.Other if no entry matches.
func Family(function, module string) (family event.Class, inside bool) {
	module = Module(module)
	for _, r := range families() {
		if (r.functions == nil || r.functions.MatchString(function)) && (r.modules == nil || r.modules.MatchString(module)) {
			return r.family, r.inside
		}
	}
	return event.Other, false
}

// loop matches the functions that run Python functions.
var loop = match(`^_?PyEval_EvalFrame(Default|Ex)?(\.|$)`)

// Frame returns the name of a frame of a stack: the function, or if resolved is false or
// function is "", the module in brackets.
func Frame(function, module string, resolved bool) string {
	module = Module(module)
	switch {
	case !resolved || function == "":
		if module = strings.Trim(module, "[]"); module == "" {
			module = "Unknown"
		}
		return "[" + clean(module) + "]"
	case loop.MatchString(function):
		return clean(function) + " [python]"
	case strings.HasPrefix(function, "py::"):
		name, file, _ := strings.Cut(function[len("py::"):], ":")
		return Python(name, file, 0)
	}
	return clean(function)
}

// entities are what nsys writes for the angle brackets in names such as <module>.
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// Python returns the name of the frame of a Python function; line 0 means unknown.
func Python(function, file string, line int64) string {
	name := clean(entities.Replace(function))
	if file = clean(Module(entities.Replace(file))); file == "" {
		return name
	}
	if line <= 0 {
		return name + " (" + file + ")"
	}
	return name + " (" + file + ":" + strconv.FormatInt(line, 10) + ")"
}

// maxName is how many bytes of a name are kept.
const maxName = 512

// paths matches the directories of what may be a path in a name.
var paths = match(`(^|[\s(\[="':,<@])(?:[A-Za-z]:)?[/\\][^\s;:,()<>"']*[/\\]`)

// clean removes from a name the separator of frames, characters unsafe for terminals,
// and directories. It cuts the name to maxName bytes.
func clean(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	if strings.ContainsAny(name, `/\`) {
		name = paths.ReplaceAllString(name, "$1")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ','
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029:
			return ' '
		}
		return r
	}, name)
}
