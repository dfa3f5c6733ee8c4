package event

// Source is a header followed by a stream of batches.
type Source interface {
	// Header is known before the first batch and does not change.
	Header() *Header
	// Next returns the next batch, or io.EOF after the last one. The source owns the
	// batch; it is valid until the next call.
	Next() (*Batch, error)
}

// Parted is a Source that may be read in concurrent parts instead of by Next.
type Parted interface {
	Source
	// Parts returns sources, each with the rows of some ranks. Each may be read by its
	// own goroutine, at most beside of them at a time. Ranks of a part precede those of
	// the next part. It returns nil if the source cannot be split, or splitting is not
	// worth it.
	Parts() (parts []Source, beside int)
	// Rest returns the rows that follow all parts. Call it when every part was read to
	// its end.
	Rest() (Source, error)
}

// Warner is a Source whose stream has warnings of the filters it passed through, beside
// the warnings of its reports.
type Warner interface {
	// Warnings are complete once Next has returned io.EOF.
	Warnings() []string
}
