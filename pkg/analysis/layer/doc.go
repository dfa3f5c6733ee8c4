// Package layer finds the layer in the kernels of a step: the unit that the
// sequence repeats, without being told anything about the model.
//
// # What is compared
//
// A kernel is a symbol: its class and a stem of its name (Stem). The stem is the
// name in lower case up to what a tuner may vary: from the first word with a digit
// in it on (tile sizes, architectures) all is left out. Matrix products have no
// stem at all: which one runs is decided by an autotuner, layer by layer.
//
// # How the unit is found
//
// By lag search and local alignment (package step): the unit is that of the shortest lag
// whose alignment scores nearly as much as the best one's, so that multiples of the layer
// lose against it, unless two kinds of layers take turns: then only the pair of them
// repeats. A unit without a mixer is none in a step that has mixers.
//
// What is left over before the alignment is the prologue (embedding, first norm),
// what is left over after it the epilogue (last product, sampling). A sequence that
// repeats may be said to begin anywhere; where the alignment is longer than whole
// repetitions, the unit begins at the first place within that excess that follows a
// norm or a collective, as layers do. Places that less than a third of the
// repetitions have are dropped. Repetitions are those in which at least half of the
// unit was found.
//
// # Layers
//
// Layers are not repetitions: the first ones may differ from the rest, attention may
// stand in one layer of eight, and a draft model has layers, too. They are counted over
// the whole forward pass by what mixes tokens: attention, or the scans of state-space
// models and linear attention (Roles.Mixer). A run of such kernels up to the next
// matrix product is one mixer. What follows it is its feed-forward part: dense with an
// activation after a product (or, where a model has no activation kernels, by the
// number of products), MoE with kernels of that class. A feed-forward part after a norm
// or collective without a mixer of its own is a layer whose mixer has no known name.
//
// Where all mixers have a feed-forward part, or none, or all of one kind do and all of
// the other do not, each mixer is a layer. In models with attention alone whose mixers
// often have none, several attention kernels belong to one layer, which ends with its
// feed-forward part. Otherwise mixers and feed-forward parts follow each other freely,
// and each is a layer of its own, as the makers of such models count.
//
// A forward pass ends with sampling, of which the unit has nothing; of several passes
// the one with the most layers is the model. The layers cannot be told where kernels
// between two mixers repeat by themselves (mixers that are not known), or where the
// count is less than the repetitions.
//
// # Steps as rings
//
// Steps that are identified by their first collective begin in the middle of the first
// layer, whose front is at the end of the step before. Steady steps are similar, so
// the end of a step stands for that of the one before: the step is a ring, which is
// also cut where the left-over begins and at the longest gap, and the cut that gives
// the best alignment counts. A trace without steps is no ring.
//
// # Means
//
// Of several steps those count that agree on the unit; gaps and durations are means
// over all their repetitions.
//
// A model with one layer repeats nothing inside a step. Where a step has
// attention in one place and no unit, the layer is taken to go from after the norm,
// collective or copy before it to the last norm or collective after it.
package layer
