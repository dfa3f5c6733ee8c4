package nsys

import "github.com/hostbound/hostbound/pkg/trace/spill"

// bySlot returns the runs of the processes in each slot, those without a rank last.
func (r *report) bySlot() [][]*runs {
	slots := make([][]*runs, len(r.ranks)+1)
	for n := range r.runs {
		slot := r.slots[n]
		if slot == noSlot {
			slot = int32(len(r.ranks))
		}
		slots[slot] = append(slots[slot], &r.runs[n])
	}
	return slots
}

// merge merges the rows of a slot: by start, then the longer first, then by table and
// by order within the table.
func (r *report) merge(of []*runs, fanIn int) (*spill.Merge, error) {
	m, err := spill.NewMerge(r.store, events(of), fanIn)
	if err != nil {
		return nil, r.explain(err)
	}
	return m, nil
}

// events returns the runs of the rows of the given processes.
func events(of []*runs) (all []*spill.Run) {
	for _, p := range of {
		all = append(all, p.events...)
	}
	return all
}
