// Package arrow carries events and result tables over a pipe, as Arrow IPC
// streams. It is the only package that knows Arrow.
//
// # Events
//
// A stream of events is a schema, the dictionaries of the enum columns, record batches of
// at most event.MaxBatchRows rows and the end-of-stream marker, uncompressed, in the byte
// order of the machine. Its columns are those of event.Fields in their order, followed by
// any that others added:
//
//	kind, class, domain, phase,  dictionary<int32, utf8>, the dictionary sent
//	stack                        once, before the first batch, never changed
//	name                         utf8: literal NVTX strings may all differ, and a
//	                             dictionary must go out before the first batch
//	rank, device                 int32
//	the rest                     int64
//
// The metadata of the schema is the event.Header:
//
//	hostbound.schema     "events"
//	hostbound.version    "2"; version 1 is read, too
//	hostbound.stage      the filter that wrote the stream
//	hostbound.reports    JSON, the reports the rows come from
//	hostbound.domains    JSON, the values of column domain. The dictionary says
//	                     it again; here it is known before the first row, and it
//	                     outlives programs that write a dictionary as text.
//	hostbound.isolation  JSON, once steps were isolated
//
// Other keys and columns are carried along (event.Header.Extra,
// event.Header.Foreign, event.Batch.Foreign). To other formats the columns go as
// event.Plain: whole numbers but uint64 as int64, floating point numbers as
// float64, all others as text. Columns from other formats are written as int64,
// float64 and utf8.
//
// A reader also takes what other programs make of such a stream: columns in
// another order, enum columns (but for stack) as utf8 or large_utf8 or with other dictionaries
// and index types, name as large_utf8 or dictionary, whole numbers of another
// width whose values fit.
//
// # Result tables
//
// A table.Table is a stream with columns of utf8, int64, float64 and bool, all
// nullable; hostbound.schema and hostbound.version name what it holds, and the
// other keys are the table's own.
//
// # The checked end
//
// The end-of-stream marker, which Arrow leaves to the writer, is written if
// and only if everything before it is right: Writer.Close writes it, and no
// Writer.Close follows an error. A Reader that comes to the end of its input
// without it returns ErrCut, and an error where anything follows it: two
// streams in a row are not one.
//
// # The seal
//
// The last message before the marker, of events and of tables, is a record batch
// without rows, the seal. Its custom metadata have
//
//	hostbound.seal       "xxh3"
//	hostbound.warnings   JSON, what the filters that the stream went through
//	                     warned of besides the reports' own warnings; most of it
//	                     is known only after the last row
//
// and its body ends, after all buffers, with "hostbound.sealed" and 16 hex digits:
// a hash of all that came before and of the seal itself, with zeros for the digits.
// Other readers see a batch without rows. A Reader verifies it before it returns
// io.EOF. A stream without a seal is read as well: that is how version 1 and other
// programs write it. Rejected: bytes after the marker (some readers refuse them),
// a hash in the schema's metadata (it goes out first), window rows with a hash (the
// result tables have none).
//
// # Trust
//
// Input may be anything. A Reader checks the framing and the metadata of each
// message before it believes a length, reads bodies as they arrive, holds no
// more than a limit, and checks offsets, codes and spans of each batch; it
// never panics.
//
// That is why the library's own reader only decodes the schema and unknown columns,
// behind a message reader of ours (ipc.NewReaderFromMessageReader) and an allocator with
// a limit. By itself it trusts the lengths in a message and allocates them before it
// reads, so 8 of 80 public fuzz streams kill the process, which a recover cannot prevent;
// and it takes a stream that is cut between two messages for a complete one. Behind these
// checks it does no harm, but it copies each buffer: events come at 0.3 to 0.45 times the
// rows/s, before offsets and codes are checked, and one batch takes 223 allocations of
// 1.6 MB in place of 5 of 64 KB (BenchmarkRead, BenchmarkLibraryRead). So the cursor that
// takes columns out of a body without a copy stays.
package arrow
