package kineto

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// category is what a name is of: the same text may mean different things.
type category uint8

// The categories of events that become rows.
const (
	kernelCategory category = iota
	memcpyCategory
	memsetCategory
	apiCategory
	syncCategory
	annotationCategory
	operatorCategory
	pythonCategory
	overheadCategory
	noCategory
)

// categories maps names of categories, in lower case, including those of 2020 and 2021.
var categories = map[string]category{
	"kernel":     kernelCategory,
	"gpu_memcpy": memcpyCategory, "memcpy": memcpyCategory,
	"gpu_memset": memsetCategory, "memset": memsetCategory,
	"cuda_runtime": apiCategory, "cuda_driver": apiCategory, "runtime": apiCategory, "driver": apiCategory,
	"xpu_runtime": apiCategory, "xpu_driver": apiCategory, "privateuse1_runtime": apiCategory, "privateuse1_driver": apiCategory,
	"cuda_sync":       syncCategory,
	"user_annotation": annotationCategory,
	"cpu_op":          operatorCategory, "operator": operatorCategory,
	"python_function": pythonCategory,
	"overhead":        overheadCategory,
}

// kinds are the kinds of the rows of each category.
var kinds = [noCategory]event.Kind{
	kernelCategory: event.Kernel, memcpyCategory: event.Memcpy, memsetCategory: event.Memset, apiCategory: event.API,
	syncCategory: event.Sync, annotationCategory: event.NVTX, operatorCategory: event.NVTX, pythonCategory: event.NVTX,
	overheadCategory: event.Overhead,
}

// Domains of ranges.
const (
	torchDomain  = "torch"
	atenDomain   = "aten"
	pythonDomain = "python"
)

var domainOf = [noCategory]string{annotationCategory: torchDomain, operatorCategory: atenDomain, pythonCategory: pythonDomain}

// nameKey is a name as in the document.
type nameKey struct {
	category category
	text     string
}

// names numbers the names of a document, in the form that the stream has. Loaders share
// it; each has its own cache.
type names struct {
	sync.Mutex
	numbers map[nameKey]name
	dict    event.Dict
	classes []event.Class // by number, -1 for none
	// trains: a name is of a backward pass or an optimizer; diffuses: of a diffusion
	// model; almost: it nearly matches a forward-step marker; amd: it is a HIP call.
	trains, diffuses, almost, amd bool
	sizes                         map[int32]int32 // number of ranks that a collective is compiled for, by number of the name
	size                          int64           // approximate bytes
	limit                         int64           // of size
}

// name is what is known of a name.
type name struct {
	number int32
	class  event.Class // -1 for none
	marker markerKind
}

// markerKind says what a range may mark.
type markerKind uint8

const (
	noMarker  markerKind = iota
	scheduled            // a step of the profiler's schedule
	counted              // a forward step, with counts of requests
)

// number returns a name, adding it if it is new. It fails if names take too much
// memory.
func (n *names) number(key nameKey) (name, error) {
	n.Lock()
	defer n.Unlock()
	k, ok := n.numbers[key]
	if ok {
		return k, nil
	}
	if n.size += 2*int64(len(key.text)) + 128; n.size > n.limit { // the text twice, plus the maps' overhead
		return k, wrong("give more memory with --memory, or record fewer steps", "its names take more than %d MiB", n.limit>>20)
	}
	text, class := resolve(key)
	k = name{number: int32(len(n.classes)), class: class}
	if key.category == annotationCategory || key.category == operatorCategory {
		switch m, ok := marker.Parse(text); {
		case ok && m.HasCounts:
			k.marker = counted
		case ok:
			k.marker = scheduled
		}
	}
	n.look(key, text)
	n.numbers[key] = k
	n.dict.Data = append(n.dict.Data, text...)
	n.dict.Offsets = append(n.dict.Offsets, int32(len(n.dict.Data)))
	n.classes = append(n.classes, class)
	return k, nil
}

// look records what a name says about the run; text is its form in the stream.
func (n *names) look(key nameKey, text string) {
	switch key.category {
	case kernelCategory:
		demangled := cudaname.Demangle(unquote(key.text))
		n.trains = n.trains || cudaname.Trains(demangled)
		if size := cudaname.GroupSize(demangled); size > 0 {
			n.sizes[int32(len(n.classes))] = size
		}
	case annotationCategory, operatorCategory:
		n.trains = n.trains || marker.Trains(text)
		n.diffuses = n.diffuses || marker.Diffuses(text)
		n.almost = n.almost || marker.Almost(text)
	case apiCategory:
		n.amd = n.amd || strings.HasPrefix(text, "hip")
	}
}

// text returns the text of a name.
func (n *names) text(k int32) string {
	return string(n.dict.Data[n.dict.Offsets[k]:n.dict.Offsets[k+1]])
}

// resolve returns a name in the form that the stream has, and its class.
func resolve(key nameKey) (string, event.Class) {
	text := unquote(key.text)
	if key.category != pythonCategory {
		text = marker.Homeless(text)
	}
	switch key.category {
	case kernelCategory:
		text = cudaname.Demangle(text)
		return cudaname.ShortKernel(text), cudaname.ClassKernel("", text)
	case apiCategory:
		name := cudaname.API(text)
		return name, cudaname.ClassAPI(name)
	case memcpyCategory:
		return copyName(text), copyClass(text)
	case memsetCategory:
		return "memset", -1
	case syncCategory:
		return strings.ToLower(text), -1
	case overheadCategory:
		return text, cudaname.ClassOverhead(text)
	case annotationCategory:
		return text, marker.ClassNVTX(text)
	case pythonCategory:
		text = marker.Homeless(pythonName(text))
		return text, prepOrRange(text)
	case operatorCategory: // in old traces, also annotations
		return text, prepOrRange(text)
	}
	return text, -1
}

// prepOrRange returns the class of a range that is not an annotation.
func prepOrRange(text string) event.Class {
	if marker.ClassNVTX(text) == event.Prep {
		return event.Prep
	}
	return event.Range
}

// unquote returns the text of a quoted string. If its escapes are invalid, it is taken
// literally.
func unquote(quoted string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`)
	if strings.IndexByte(inner, '\\') >= 0 {
		var text string
		if json.Unmarshal([]byte(quoted), &text) == nil {
			inner = text
		}
	}
	return strings.ToValidUTF8(inner, "\ufffd")
}

// copyName returns "memcpy HtoD" for Memcpy HtoD (Pinned -> Device).
func copyName(text string) string {
	parts := strings.Fields(text)
	if len(parts) < 2 || !strings.EqualFold(parts[0], "memcpy") {
		return "memcpy"
	}
	return "memcpy " + parts[1]
}

// copyClass returns the kind of host memory in Memcpy HtoD (Pinned -> Device), -1 if
// neither end states it.
func copyClass(text string) event.Class {
	switch {
	case strings.Contains(text, "Pageable"):
		return event.Pageable
	case strings.Contains(text, "Pinned"):
		return event.Pinned
	}
	return -1
}

// installed matches what precedes the packages in the path of a source file.
var installed = regexp.MustCompile(`^.*/(?:site-packages|dist-packages|lib/python[0-9.]+)/`)

// pythonName returns the name of a Python function without the part of its path that
// reveals the machine or the user. Of an absolute path it keeps the package's part, or
// the last two names.
func pythonName(text string) string {
	path, rest, ok := strings.Cut(text, "(")
	path = strings.ReplaceAll(path, `\`, "/")
	if !ok || !strings.Contains(path, "/") {
		return text
	}
	if at := installed.FindStringIndex(path); at != nil {
		return path[at[1]:] + "(" + rest
	}
	path = marker.Home.ReplaceAllString(path, "/")
	if strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") || strings.HasPrefix(path, "..") || strings.Contains(path, ":/") {
		parts := strings.Split(path, "/")
		path = strings.Join(parts[max(len(parts)-2, 1):], "/")
	}
	return path + "(" + rest
}
