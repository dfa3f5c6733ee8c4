package nsys

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/names/marker"
)

// work is what names of ranges and kernels say about the run.
type work struct {
	trains   bool // a name is of a backward pass or an optimizer
	diffuses bool // a name is of a diffusion model
	almost   bool // a name nearly matches a forward-step marker
	// sizes are the numbers of GPUs that collectives are compiled for, by kernel name.
	sizes map[string]int32
}

// group records the number of GPUs that a collective is for, 0 if its name does not
// say.
func (w *work) group(kernel string, size int32) {
	if size == 0 {
		return
	}
	if w.sizes == nil {
		w.sizes = map[string]int32{}
	}
	if known := w.sizes[kernel]; size > known {
		w.sizes[strings.Clone(kernel)] = size // the name shares the memory of all names
	}
}

// look records what the text of a range says.
func (w *work) look(text string) {
	w.trains = w.trains || marker.Trains(text)
	w.diffuses = w.diffuses || marker.Diffuses(text)
	w.almost = w.almost || marker.Almost(text)
}

// add adds what another loader recorded.
func (w *work) add(v work) {
	w.trains, w.diffuses, w.almost = w.trains || v.trains, w.diffuses || v.diffuses, w.almost || v.almost
	for kernel, size := range v.sizes {
		w.group(kernel, size)
	}
}
