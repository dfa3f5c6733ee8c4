// Package checkpoint keeps events at rest, in Parquet that other programs read
// as it is.
//
// # A file
//
// A checkpoint is a Parquet file with the rows of a stream in their order. It has the
// columns of event.Fields in theirs, followed by unknown columns (as int64, double or
// text; a value of any other type becomes text). Null is null. The columns kind, class,
// domain, phase and name are dictionary-encoded text, unless a row group has so many
// different strings that a dictionary does not pay; times, correlation and step are
// stored as differences; everything is compressed with zstd. Row groups have 64 Ki rows,
// in the order of the stream, with bounds of whole numbers and strings; the window rows
// at the end have row groups of their own.
//
// The footer has the header of the stream under the keys of package event
// (hostbound.schema and so on), unknown keys, hostbound.source (Options.Source),
// hostbound.hash, a hash of all column chunks, and hostbound.seal, a checksum of the
// footer itself. Each column chunk has the hash of its bytes, so partial reads are
// verified, too. No row is returned before all column chunks that it comes from are
// verified: a damaged checkpoint leads to an error and never to another answer.
//
// A file is written under another name in the same directory, synced and renamed: it
// appears whole or not at all.
//
// # A data set
//
// A data set is a directory partitioned by rank, as in Hive:
//
//	rank=0/events.parquet
//	rank=1/events.parquet
//	rank=__HIVE_DEFAULT_PARTITION__/events.parquet   rows without a rank
//	_hostbound.json                                  which files belong to it, with their hashes
//
// Each file is a checkpoint of its own, with the column rank and the header of its rank's
// report. Each rank of the header has a file, even without rows. The rows of the data set
// are those of its files in turn, by rank and those without a rank last, except that the
// window rows of all files come at the end, as package event requires. Its header has the
// reports in that order.
//
// The data set is complete if _hostbound.json is there and the files match it. The
// manifest is removed before the first file is renamed to its name, and comes back last:
// a writer that is killed leaves the old data set, or one that is refused as unfinished.
// Files already in it are whole, and the next run keeps those that match (Set.Holds: same
// report by Identity, same ranks and clock, undamaged). A complete data set of the same
// reports can be read in their place (MadeOf).
//
// Other engines know nothing of the manifest: in an unfinished data set they find whole
// files of some of the ranks.
//
// # Reading a part
//
// A Selection chooses ranks, kinds, a range of time or of steps; only the files
// and row groups that may have such rows are read, and with ReadOptions.Columns
// only those columns. Selection.Filter makes the same choice from any stream.
//
// # Sizes
//
// What 5 million events of a simulated run take (two ranks with graph replays recorded
// kernel by kernel, with steps and phases), in bytes per row, as printed by
// scripts/size.sh. As an SQLite export they take 74.6, here 6.9:
//
//	end           2.620    name          0.203    launch_thread 0.062
//	start         1.896    class         0.146    device        0.062
//	launch_end    0.665    kind          0.081    graph_node    0.051
//	launch_start  0.647    thread        0.064    domain        0.032
//	correlation   0.214    stream        0.063    the others    0.036
//
// Reading and writing have benchmarks (go test -bench . ./pkg/format/checkpoint), and
// scripts/bench.sh has what a verdict from a checkpoint takes.
package checkpoint
