// Package hotspot says what kind of waste the hot lines of a Python profile are, what
// to do about each, and which function to profile next.
//
// # Time
//
// A hotspot is a statement, with the time of all its lines, less the time of the profiled
// functions that it calls: that counts once, in the callee. A call's function is found by
// its name, its receiver and its class and, if several fit or there is no source, by hits
// and times; self.attn(x) runs a forward. Shares are of the profiled time: that of the
// functions that no line of another profiled function explains. A loop in Python and the
// plain lines in it are one hotspot. Functions without lines (stacks, totals) are one
// each.
//
// Several profiles are ranks: the longest of each function counts.
//
// # Types
//
// The lexer (pylex.go) reads a statement, its calls are matched with the indicators of
// the catalogue, and its surroundings are checked:
//
//	kinds      what a name holds, from its assignment in the function: .cpu() of a NumPy
//	           array is no wait. Names such as host_logits count where nothing else does
//	time       per hit: .item() in a microsecond did not wait for a GPU. With too short
//	           a time an indicator does not hold, and the evidence says so
//	scope      how often it runs, from its hits and the number of steps and layers: a
//	           wait once per layer is HOST_SYNC
//	chain      three tensor operations in a row that only view, copy or compute elementwise
//	loops      iterations from the hits of header and block, not from what it goes over
//	flow       what is read where: results that are hardly read, what does not change
//	           in a loop or with the layer, a second walk over one collection
//	repeated   look-ups and calls of helpers are waste where they run eight times per step or oftener
//
// Types that apply are sorted in the order of the catalogue, doubtful ones last. Hits of
// with statements, which also count on leaving, and of statements over several lines are
// counted once. A line that cannot be classified is COMPUTE, with confidence low.
//
// # Knowledge
//
// Types, indicators, remedies and engines' names are the TOML files in data, which
// [Knowledge] returns. A test reads every entry.
package hotspot
