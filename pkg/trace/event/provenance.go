package event

import "slices"

// Provenance says where figures come from: the files of the reports, their date,
// profiler and GPUs. Files are named without folders; users, hosts and command lines
// are left out. Lists are sorted without duplicates, so that parts add up to the whole.
type Provenance struct {
	// Files are the base names of the reports.
	Files []string `json:"files"`
	// Time is when the first report began, in ns since 1970, 0 if unknown.
	Time int64 `json:"time_ns,omitempty"`
	// Recorders are the profilers with their versions, such as "nsys 2025.3.2".
	Recorders []string `json:"recorders,omitempty"`
	// GPUs are the models; empty if the reports do not say.
	GPUs []string `json:"gpus,omitempty"`
	// Notes are the notes of the reports.
	Notes []string `json:"notes,omitempty"`
}

// Provenance returns the provenance of all reports.
func (h *Header) Provenance() *Provenance {
	p := &Provenance{Files: []string{}}
	for i := range h.Reports {
		r := &h.Reports[i]
		one := &Provenance{Files: []string{r.File}, Time: r.Origin, GPUs: r.GPUs, Notes: r.Notes}
		switch {
		case r.Source != "" && r.Version != "":
			one.Recorders = []string{r.Source + " " + r.Version}
		case r.Source != "":
			one.Recorders = []string{r.Source}
		}
		p = p.With(one)
	}
	return p
}

// With returns the provenance of both. Neither is changed.
func (p *Provenance) With(q *Provenance) *Provenance {
	sum := &Provenance{Files: united(p.Files, q.Files), Time: p.Time, Recorders: united(p.Recorders, q.Recorders), GPUs: united(p.GPUs, q.GPUs), Notes: united(p.Notes, q.Notes)}
	if q.Time != 0 && (sum.Time == 0 || q.Time < sum.Time) {
		sum.Time = q.Time
	}
	return sum
}

// united returns the values of both, sorted, without duplicates.
func united(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}
