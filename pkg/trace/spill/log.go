package spill

import "cmp"

// Log holds rows in the order in which they are added: a Key, in any order, and payload
// columns. Beside the store it holds less than a block in memory.
//
// Adding and reading return no errors. A log whose store has failed reads as empty, and
// [Store.Err] says why. So code that adds row by row need not check; the owner of the
// store does, once in a while.
type Log struct {
	writer Writer
	rows   Rows // not in a block yet; Then and Seq are nil
	block  int
}

// NewLog returns a log with payload columns of payload. It writes to the store every
// block rows, 0 for BlockRows. Small blocks suit many logs.
func (s *Store) NewLog(payload, block int) *Log {
	block = cmp.Or(block, BlockRows)
	return &Log{writer: Writer{store: s, packer: packer{loose: true}}, rows: make(Rows, Payload+payload), block: block}
}

// Add adds a row, with one value per payload column.
func (l *Log) Add(key int64, payload ...int64) {
	l.rows[Key] = append(l.rows[Key], key)
	for c, v := range payload {
		l.rows[Payload+c] = append(l.rows[Payload+c], v)
	}
	if len(l.rows[Key]) == l.block {
		l.flush()
	}
}

// flush writes the rows that are not in a block yet to the store.
func (l *Log) flush() {
	l.rows[Then] = l.rows[Key]
	if err := l.writer.block(l.rows); err != nil {
		l.writer.store.fail(err)
	}
	l.rows[Then] = nil
	for c := range l.rows {
		l.rows[c] = l.rows[c][:0]
	}
}

// Seal writes all rows to the store. The log then takes next to no memory until more
// are added.
func (l *Log) Seal() {
	if l.Len() > l.writer.run.Rows {
		l.flush()
	}
	clear(l.rows)
}

// Len returns the number of rows.
func (l *Log) Len() int64 { return l.writer.run.Rows + int64(len(l.rows[Key])) }

// Read returns a reader of the rows added so far.
func (l *Log) Read() *LogReader { return &LogReader{log: l} }

// LogReader reads the rows of a log. A log can have several readers, but no rows may be
// added meanwhile.
type LogReader struct {
	log  *Log
	next int // block
	buf  buffer
}

// Next returns the next rows with Key and the columns of set, nil after the last or if
// the store failed. They are valid until the next call.
func (r *LogReader) Next(set uint64) Rows {
	run, s := &r.log.writer.run, r.log.writer.store
	r.next++
	switch k := r.next - 1; {
	case s.Err() != nil:
		return nil
	case k < len(run.blocks):
		if err := r.buf.load(s, len(r.log.rows), &run.blocks[k], set|Columns(Key)); err != nil {
			s.fail(err)
			return nil
		}
		return r.buf.rows
	case k == len(run.blocks) && len(r.log.rows[Key]) > 0:
		return r.log.rows
	}
	return nil
}

// Each calls fn with all rows of a log, block by block.
func (l *Log) Each(set uint64, fn func(Rows)) {
	r := l.Read()
	for rows := r.Next(set); rows != nil; rows = r.Next(set) {
		fn(rows)
	}
}
