package event

// Source is a stream of batches after a header.
type Source interface {
	// Header is known before the first batch and does not change.
	Header() *Header
	// Next returns the next batch, which the source owns and which is valid
	// until the following call, or io.EOF after the last one.
	Next() (*Batch, error)
}

// Parted is a Source that may be read in parts at a time, in place of Next.
type Parted interface {
	Source
	// Parts returns sources with the rows of some ranks each, in their order, which may be
	// read by a goroutine each, beside of them at a time; the ranks of one go before those of
	// the next. It returns none where that cannot be, or is not worth it.
	Parts() (parts []Source, beside int)
	// Rest returns the rows that come after those of all parts, when these have been read to
	// their ends.
	Rest() (Source, error)
}

// Warner is a Source of a stream that has warnings besides those of its reports:
// the filters that it went through gave them.
type Warner interface {
	// Warnings are complete when Next has returned io.EOF.
	Warnings() []string
}
