// Exposure brings a trace and a profile together: a profile says how long
// lines of Python take, a trace says how long the GPUs wait meanwhile. Only time in
// which a GPU waits is worth saving.
//
// # Evidence
//
// The JSON of gaps, diff or verdict, told by its keys. Of each the idle time per step
// of ranges is used:
//
//	gaps     the sites of the causes of idle time: a site counts for every range of its path
//	diff     "exposed" of the operations, of the target where there are two runs: ranges in
//	         which no GPU waits are in it, too
//	verdict  the exposed part of input preparation alone, and what to begin with
//
// # Ranges and functions
//
// A range stands for the function that the trace names as its source, else for the one
// of its own name: the last part of a dotted name, or the first word after a prefix in
// brackets. The ranges of input preparation (_prepare_tp_inputs, _prepare_inputs,
// prepare_inputs) stand for each other's functions where these have none: one calls the
// other.
//
// # Weights
//
// The idle time of a function without a range is part of that of its caller: the
// caller's, less that of callees with ranges, is divided in proportion to time. So is
// that of a function among its lines. What has neither a range nor a caller with one is
// not known, which is not the same as hidden.

package hotspot
