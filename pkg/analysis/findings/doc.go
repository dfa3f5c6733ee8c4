// Package findings says what there is to do about the idle time of a run's GPUs, and what it
// would bring.
//
// # Facts
//
// A [Fact] is something that was seen of a run: what kind it is, where, names, and numbers. Who
// reads the run hands over all of them; nothing here knows where they come from.
//
// # Catalogue
//
// What is known of a pattern is data (data/patterns.toml): which facts show it, how many of them
// are one finding, how a run is treated to see what it is worth, the sentence, what to do, where
// that is documented, and lines that the entry is tested with. A fact belongs to the first entry
// that recognises it, and to no other.
//
// What ranges of engines are, by the text of the range: the function they come from, and what to do
// about the host time in them, is data, too ([Sources], data/sources.json).
//
// # Gains
//
// A finding is worth what package replay says that a step takes less when its sites are treated:
// never the time of its calls, which a busy GPU may hide, and never idle time that something else
// would take. It is a row of the table that whatif prints, the mean over all steps of the benchmark
// segments: of the same treatment both say the same. Treatments of several findings may treat the same time: gains do not add up, and
// the best two are replayed together. A finding that brings less than [Least] of a step is none.
// (What comes in one step of many has a wide interval, and is found all the same: both runs are
// one, and nothing else differs.)
//
// # Sentences
//
// [Text] makes the sentence of an entry and the evidence of a finding. Only there numbers are
// rounded.
package findings
