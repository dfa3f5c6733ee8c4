package main

import "io"

// runDiff is the section diff.
func runDiff(w io.Writer, o options) error {
	s := newBoard()
	forEach(grid(), func(c cell) {
		s.add(c.equal(o.pairs))
		for _, effect := range effects {
			s.add(c.changed(effect, max(1, o.pairs/8)))
		}
	})
	var whole tally
	if o.exports > 0 {
		var err error
		if whole, err = throughExports(o.exports); err != nil {
			return err
		}
	}
	s.print(w, whole)
	return nil
}
