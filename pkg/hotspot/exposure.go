// Exposure combines a trace and a profile: a profile says how long Python lines take, a
// trace says how long GPUs wait meanwhile. Only time in which a GPU waits is worth
// saving.
//
// # Evidence
//
// The evidence is the JSON of gaps, diff or verdict, recognised by its keys. The idle
// time per step of ranges is taken from each:
//
//	gaps     the sites of the causes of idle time: a site counts for every range of its path
//	diff     "exposed" of the operations, of the target if there are two runs; includes ranges
//	         in which no GPU waits
//	verdict  only the exposed part of input preparation, and what to begin with
//
// # Ranges and functions
//
// A range stands for the function that the trace names as its source, else for the
// function with its own name: the last part of a dotted name, or the first word after a
// prefix in brackets. The ranges of input preparation (_prepare_tp_inputs,
// _prepare_inputs, prepare_inputs) stand for each other's functions if these have none:
// one calls the other.
//
// # Weights
//
// The idle time of a function without a range is part of its caller's: the caller's
// idle time, less that of callees with ranges, is divided in proportion to time. The
// idle time of a function is divided among its lines in the same way. If neither a
// function nor its callers have a range, its idle time is unknown, which is not the
// same as hidden.

package hotspot
