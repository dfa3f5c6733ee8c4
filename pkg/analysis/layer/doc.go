// Package layer finds the layer in the kernels of a step: the unit that the
// sequence repeats, without being told anything about the model.
//
// # What is compared
//
// A kernel is a symbol: its class and a stem of its name (Stem). The stem is the name in
// lower case, without what a tuner may vary: it ends before the first word with a digit
// in it (tile sizes, architectures). Matrix products have no stem at all: an autotuner
// decides which one runs, layer by layer.
//
// # How the unit is found
//
// By lag search and local alignment (package step). The shortest lag wins whose alignment
// scores nearly as much as the best one's, so multiples of the layer lose against it,
// unless two kinds of layers alternate: then only the pair of them repeats. A unit
// without a mixer does not count in a step that has mixers.
//
// Kernels before the alignment are the prologue (embedding, first norm), kernels after it
// the epilogue (last product, sampling). A sequence that repeats may be said to begin
// anywhere. If the alignment is longer than whole repetitions, the unit begins at the
// first place within that excess that follows a norm or a collective, as layers do.
// Places that less than a third of the repetitions have are dropped. Repetitions are
// those in which at least half of the unit was found.
//
// # Layers
//
// Layers are not repetitions: the first ones may differ from the rest, one layer in eight
// may have attention, and a draft model has layers, too. Layers are counted over the
// whole forward pass by what mixes tokens: attention, or the scans of state-space models
// and linear attention (Roles.Mixer). A run of such kernels up to the next matrix product
// is one mixer. Its feed-forward part follows: dense with an activation after a product
// (or, if a model has no activation kernels, by the number of products), MoE with kernels
// of that class. A feed-forward part after a norm or collective, without a mixer of its
// own, is a layer whose mixer has no known name.
//
// Each mixer is a layer if all mixers have a feed-forward part, or none, or all of one
// kind do and none of the other. In models with attention alone, whose mixers often have
// none, several attention kernels belong to one layer, which ends with its feed-forward
// part. Otherwise mixers and feed-forward parts follow each other freely, and each is a
// layer of its own, as the makers of such models count.
//
// A forward pass ends with sampling, which the unit does not contain; of several passes
// the one with the most layers is the model. Layers cannot be counted if kernels between
// two mixers repeat by themselves (mixers that are not known), or if the count is less
// than the repetitions.
//
// # Steps as rings
//
// Steps that are identified by their first collective begin in the middle of the first
// layer, whose front is at the end of the step before. Steady steps are similar, so the
// end of a step stands for that of the one before: the step is a ring. It is also cut
// where the left-over begins and at the longest gap, and the cut with the best alignment
// counts. A trace without steps is no ring.
//
// # Means
//
// Among several steps, those count that agree on the unit. Gaps and durations are means
// over all their repetitions.
//
// A model with one layer repeats nothing inside a step. If a step has attention in one
// place and no unit, the layer goes from after the norm, collective or copy before the
// attention to the last norm or collective after it.
package layer
