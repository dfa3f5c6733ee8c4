package spill

import "cmp"

// Log is rows in the order in which they are added: a Key, in any order, and so many
// columns of payload. What it holds in memory beside the store is less than a block.
//
// Adding and reading return no errors: a log whose store has failed holds nothing, and
// [Store.Err] says why. So what adds row by row need not look, and the one who owns the
// store looks once in a while.
type Log struct {
	writer Writer
	rows   Rows // that make no block yet; Then and Seq are nil
	block  int
}

// NewLog returns a log of rows with so many columns of payload. Every block rows, 0 for
// BlockRows, go to the store; who has many logs has small blocks.
func (s *Store) NewLog(payload, block int) *Log {
	block = cmp.Or(block, BlockRows)
	return &Log{writer: Writer{store: s, packer: packer{loose: true}}, rows: make(Rows, Payload+payload), block: block}
}

// Add adds a row, with a value for each column of payload.
func (l *Log) Add(key int64, payload ...int64) {
	l.rows[Key] = append(l.rows[Key], key)
	for c, v := range payload {
		l.rows[Payload+c] = append(l.rows[Payload+c], v)
	}
	if len(l.rows[Key]) == l.block {
		l.flush()
	}
}

// flush puts the rows that make no block yet into the store.
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

// Seal puts all rows into the store, where no more come for a while: the log takes next to
// no memory then.
func (l *Log) Seal() {
	if l.Len() > l.writer.run.Rows {
		l.flush()
	}
	clear(l.rows)
}

// Len returns the number of rows.
func (l *Log) Len() int64 { return l.writer.run.Rows + int64(len(l.rows[Key])) }

// Read returns a reader of the rows that were added so far and whose blocks begin with a
// Key of at least from; for all of them [None].
func (l *Log) Read(from int64) *LogReader {
	r := &LogReader{log: l}
	for blocks := l.writer.run.blocks; r.next+1 < len(blocks) && blocks[r.next+1].first < from; {
		r.next++
	}
	return r
}

// LogReader reads the rows of a log. Several may read one log, of which no rows are added
// meanwhile.
type LogReader struct {
	log  *Log
	next int // block
	buf  buffer
}

// Next returns the next rows with Key and the columns of a set; none after the last. They
// are valid until the next call.
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

// Each calls fn with all rows of a log.
func (l *Log) Each(set uint64, fn func(Rows)) {
	r := l.Read(None)
	for rows := r.Next(set); rows != nil; rows = r.Next(set) {
		fn(rows)
	}
}
