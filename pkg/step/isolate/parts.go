package isolate

import "github.com/hostbound/hostbound/pkg/trace/event"

// Parts returns the rows with steps for each part of the source. It implements
// event.Parted. The steps of a rank depend on its own rows only, and remarks about
// several ranks come with the window rows.
func (it *Isolator) Parts() (parts []event.Source, beside int) {
	for _, id := range it.header.RankNumbers() {
		if _, say := it.planOf(id); say != "" {
			return nil, 0 // the remark is due when the rank begins
		}
	}
	sources, beside := event.PartsOf(it.src)
	for _, src := range sources {
		one := &Isolator{src: src, header: it.header, opt: it.opt, plan: it.plan, part: true}
		one.pool.columns = it.pool.columns
		it.parts, parts = append(it.parts, one), append(parts, one)
	}
	return parts, beside
}

// Rest returns the window rows. It implements event.Parted.
func (it *Isolator) Rest() (event.Source, error) {
	for _, one := range it.parts {
		it.ranks = append(it.ranks, one.ranks...)
	}
	it.parts = nil
	rest, err := it.src.(event.Parted).Rest()
	it.src = rest
	return it, err
}
