// Package findings says what to do about the idle time of a run's GPUs, and what it would bring.
//
// # Facts
//
// A [Fact] is something that was seen in a run: its kind, its place, names, and numbers. Whoever
// reads the run hands over all of them; nothing here knows where they come from.
//
// # Catalogue
//
// What is known of a pattern is data (data/patterns.toml): which facts show it, how many of them
// make one finding, how a run is treated to see the gain, the sentence, the advice, where that is
// documented, and lines to test the entry with. A fact belongs to the first entry that recognises
// it, and to no other.
//
// What the ranges of engines are is data, too ([Sources], data/sources.json): by the text of the
// range, the function it comes from and what to do about its host time.
//
// # Gains
//
// The gain of a finding is the time by which package replay says that a step gets shorter when the
// finding's sites are treated. It is never the time of its calls, which a busy GPU may hide, nor
// idle time that something else would fill. It is a row of the table that whatif prints, a mean
// over all steps of the benchmark segments: for the same treatment both say the same. Treatments of
// several findings may treat the same time, so gains do not add up, and the best two are replayed
// together. What brings less than [Least] of a step is no finding. (What occurs in one step of many
// has a wide interval, but counts: both runs are the same one, and nothing else differs.)
//
// # Sentences
//
// [Text] makes the sentence of an entry and the evidence of a finding. Numbers are rounded only
// there.
package findings
