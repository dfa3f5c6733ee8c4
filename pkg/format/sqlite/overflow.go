package sqlite

// payload is the currently available part of a row's payload.
type payload struct {
	part []byte
	at   int    // offset of the part in the payload
	size int    // of the whole payload
	next uint32 // overflow page with the part after this one
}

// open begins the payload of size bytes at leaf[at], which has overflow pages.
func (r *reader) open(at, size int) error {
	end := at + r.local(size)
	if end+4 > r.usable {
		return &damage{r.number, "a cell runs over the end of the page"}
	}
	r.overflow = payload{part: r.leaf[at:end], size: size, next: be32(r.leaf[end:])}
	return nil
}

// local returns how much of a payload with overflow pages is in its leaf: as much as
// fills the last of those pages, or, if that is too much, the minimum.
func (c *cursor) local(size int) int {
	least := (c.usable-12)*32/255 - 23
	if n := least + (size-least)%(c.usable-4); n <= c.usable-35 {
		return n
	}
	return least
}

// bytes returns n bytes of the payload from offset at on, valid until the next call.
// Offsets must not go back between calls.
func (r *reader) bytes(at, n int) ([]byte, error) {
	p := &r.overflow
	for at-p.at >= len(p.part) && n > 0 {
		if err := r.follow(); err != nil {
			return nil, err
		}
	}
	if part := p.part[min(at-p.at, len(p.part)):]; n <= len(part) {
		return part[:n], nil
	}
	r.value = append(r.value[:0], p.part[at-p.at:]...)
	for len(r.value) < n {
		if err := r.follow(); err != nil {
			return nil, err
		}
		r.value = append(r.value, p.part[:min(n-len(r.value), len(p.part))]...)
	}
	return r.value, nil
}

// follow moves to the next overflow page of the payload.
func (r *reader) follow() error {
	p := &r.overflow
	if p.next == 0 {
		return &damage{r.number, "overflow pages are missing"}
	}
	if err := r.visit(p.next); err != nil {
		return err
	}
	page, err := r.one(p.next)
	if err != nil {
		return err
	}
	p.at += len(p.part)
	p.next, p.part = be32(page), page[4:min(r.usable, 4+p.size-p.at)]
	return nil
}
