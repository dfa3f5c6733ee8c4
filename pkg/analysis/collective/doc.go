// Package collective matches the collectives of several GPUs, divides each into the time it
// waits for a late rank and the time it transfers data, and says what the wait is due to. It
// is the one place that does.
//
// # Matching
//
// A [Log] holds the collectives of one lane, a GPU of a rank. [Match] finds out which lanes
// run collectives together: for each kernel name, the lanes whose kernels of that name end
// together are a group ([Group]), and names that the same lanes share are of one group: also one
// of which there are too few to find that out, where all of them overlap.
// Members of a communicator run its collectives in one order, so within a group the next
// collective of a name on one lane belongs to the next on the others. They match where the
// last start precedes the first end, by half of the shortest of them: one that follows a lost
// one at once may begin a little before that ends elsewhere. Where they do not, the one that
// ends first is unmatched, and the others try with what comes next. So a collective that one rank lacks leaves out itself
// alone, and it does not matter how each rank's steps are numbered: ranks that run dummy
// batches without a marker number theirs differently.
//
// Lanes of one report share a clock. The clock of another report is off by the median
// distance of the ends of the collectives that two lanes ran in common, in the order of their
// name in a step: all-reduces, or another name whose ends agree clearly better, as what stages of a
// pipeline send. Over a long run it may drift ([Clock]). Ranks of reports whose collectives end
// together on no clock are not of one run, and in no group together.
//
// # Division
//
// In a match the wait of a member is min(last start − own start, own duration − least
// duration), at least 0, at the beginning of its kernel; transfer is the rest of its
// duration. Of a group that is known to have more GPUs than were recorded ([Group.Partial]), who
// arrives last may be one that is missing: each lane's transfer is then the least duration at the
// same place of a step (the n-th of its name) among steps of the same phase with as many requests or
// more, four at least, the rest is wait of unknown cause, and [Match.Estimated] says so; at a place
// that comes more rarely nothing is known. Larger steps count because transfers of theirs take no
// less: among steps of one size alone, where batches vary, the least of few is mostly one that
// waited. So it is for a lane that shares its collectives with no other one, unless they are known
// to be of one GPU. How many GPUs a group has is what kernels are compiled for, what the profiler
// says of each collective, or the number of ranks of the run;
// where no trace says it a group is taken for whole, and [Coverage] says so.
//
// # Causes
//
// Matches are resolved in the order of their ends. The member that arrives last is compared
// with a waiting one since each left their group's previous collective that matched (the same one on
// both), or since the segment began: the additional time of its own kernels is [Imbalance], at most the wait. The rest is
// divided over what else the late lane did in that interval, its idle time by key and its
// waits in collectives of other groups by theirs, in proportion, with the largest remainders
// rounded up; [Unknown] where that is nothing. The parts add up to the wait, in ns.
// Keys are the caller's: what the package divides by, it does not interpret.
//
// # Memory
//
// Ranks come one after the other, so collectives are kept in a store, about twenty bytes
// each and ten for each key of idle time between two of them, and read a few times in their
// order, a block of each lane at a time.
package collective
