package sqlite

// A table is a tree of pages. Leaves hold rows in row id order. Interior pages hold the
// numbers of pages one level down, separated by row ids: rows below the page left of a
// row id are at most that id, rows below the page right of it are greater. All leaves
// have the same depth.
//
// A page begins with a header: its type, two bytes about free space, the number of
// cells in two bytes, three bytes that do not matter here and, on an interior page, the
// number of its rightmost child. The header is followed by the offset of each cell in
// the page, two bytes each; cells fill the page from its end. The cell of an interior
// page is the number of the left child and a row id as a varint. For the cell of a leaf
// see record.go.
const (
	interiorPage   = 0x05
	leafPage       = 0x0d
	atCells        = 3
	atRightmost    = 8
	leafHeader     = 8
	interiorHeader = 12
)

// maxDepth bounds the depth of a tree, as in SQLite: a deeper tree with two children
// per page would have more pages than a file can have.
const maxDepth = 20

// level is an interior page on the path to the current leaf.
type level struct {
	number uint32
	page   []byte // a copy, with pagePad bytes
	cells  int
	next   int   // index of the child to visit next; the last one is cells
	from   int64 // lowest possible row id below that child
	to     int64 // highest possible row id below the page
}

// cursor walks the leaves of a table from left to right, as far as they may hold row
// ids low to high. It belongs to one DB and one scan at a time.
type cursor struct {
	pager
	low, high int64
	path      [maxDepth]level
	depth     int    // levels of path in use
	visited   uint32 // pages visited; each page has one place in the file's trees

	// The leaf: rows cell to cells-1 are still to be read. Their row ids are within
	// from to to.
	number      uint32
	leaf        []byte // with pagePad bytes, valid until the next leaf
	cell, cells int
	from, to    int64
}

// start positions the cursor before the first row of the table with this root.
func (c *cursor) start(root uint32, low, high int64) error {
	c.low, c.high = low, high
	c.depth, c.visited, c.cell, c.cells = 0, 0, 0, 0
	if low > high {
		return nil
	}
	return c.enter(root, root, -1<<63, 1<<63-1)
}

// next moves to the next leaf. It returns false after the last one.
func (c *cursor) next() (bool, error) {
	for c.depth > 0 {
		l := &c.path[c.depth-1]
		if l.next > l.cells || l.from > c.high {
			c.depth--
			continue
		}
		child, from, to, err := c.child(l)
		if err != nil {
			return false, err
		}
		if to < c.low {
			continue
		}
		last := child
		if _, ok := c.cached(child); !ok {
			last = c.ahead(l, child)
		}
		depth := c.depth
		if err := c.enter(child, last, from, to); err != nil {
			return false, err
		}
		if c.depth == depth {
			return true, nil
		}
	}
	return false, nil
}

// child returns the next child of an interior page and the range of its row ids, and
// advances to the one after it.
func (c *cursor) child(l *level) (child uint32, from, to int64, err error) {
	from, to = l.from, l.to
	if l.next == l.cells {
		l.next++
		return be32(l.page[atRightmost:]), from, to, nil
	}
	at := be16(l.page[interiorHeader+2*l.next:])
	if at < interiorHeader+2*l.cells || at > c.usable-5 {
		return 0, 0, 0, &damage{l.number, "a cell lies outside of the page"}
	}
	key, n := varint(l.page[at+4:])
	if at+4+n > c.usable {
		return 0, 0, 0, &damage{l.number, "a cell runs over the end of the page"}
	}
	if to = int64(key); to < from || to >= l.to {
		return 0, 0, 0, &damage{l.number, "row ids out of order"}
	}
	l.next, l.from = l.next+1, to+1
	return be32(l.page[at:]), from, to, nil
}

// ahead returns the last page to read together with a child: later children usually
// follow it in the file.
func (c *cursor) ahead(l *level, child uint32) uint32 {
	last := child
	limit := child + uint32(max(bufferSize/c.size, 1)) - 1
	for i := l.next; i <= l.cells && last < limit; i++ {
		sibling := be32(l.page[atRightmost:])
		if i < l.cells {
			at := be16(l.page[interiorHeader+2*i:])
			if at > c.usable-5 {
				break
			}
			sibling = be32(l.page[at:])
		}
		if sibling <= last || sibling > limit || int(sibling-last-1)*c.size > maxGap {
			break
		}
		last = sibling
	}
	return min(last, c.pages)
}

// enter makes a page with row ids from to to the current leaf, or adds it to the path.
// If it must be read, pages up to last are read with it.
func (c *cursor) enter(n, last uint32, from, to int64) error {
	if n < 2 || n > c.pages { // page 1 is the root of the schema
		return &damage{n, "is not in the file"}
	}
	if err := c.visit(n); err != nil {
		return err
	}
	page, ok := c.cached(n)
	if !ok {
		if err := c.load(n, last); err != nil {
			return err
		}
		page, _ = c.cached(n)
	}
	cells := be16(page[atCells:])
	switch page[0] {
	case leafPage:
		c.number, c.leaf, c.from, c.to = n, page, from, to
		c.cell, c.cells = 0, cells
		if leafHeader+2*cells > c.usable {
			return &damage{n, "more cells than the page has room for"}
		}
	case interiorPage:
		if interiorHeader+2*cells > c.usable {
			return &damage{n, "more cells than the page has room for"}
		}
		if c.depth == maxDepth {
			return &damage{n, "the tree is too deep"}
		}
		l := &c.path[c.depth]
		c.depth++
		*l = level{number: n, page: append(l.page[:0], page...), cells: cells, from: from, to: to}
	default:
		return &damage{n, "not a page of a table"}
	}
	return nil
}

// visit counts a page, so that a cycle cannot keep the cursor for ever.
func (c *cursor) visit(n uint32) error {
	if c.visited++; c.visited > c.pages {
		return &damage{n, "pages form a circle"}
	}
	return nil
}
