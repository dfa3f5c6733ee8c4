// Package collective matches the collectives of several GPUs, divides each into the time
// it waits for a late rank and the time it transfers data, and says what caused the wait.
// No other package does.
//
// # Matching
//
// A [Log] holds the collectives of one lane, a GPU of a rank. [Match] finds out which
// lanes run collectives together. For each kernel name, the lanes whose kernels of that
// name end together are a group ([Group]), and names with the same lanes share one group.
// A name with too few collectives to tell, or whose ends differ, joins a group of lanes
// if its kernels overlap on them: all of them where they are few. A stage of a pipeline runs
// kernels of one name with the stage before it and with the next one by turns. Such kernels
// are divided into groups of their own, by which lanes end each one together.
//
// The members of a communicator run its collectives in the same order, so within a group
// the next collective of a name on one lane belongs to the next one on the others. They
// match if the last start precedes the first end by at least half of the shortest
// duration: the collective that follows a lost one may begin just before the lost one
// ends elsewhere. Otherwise the collective that ends first is unmatched, and the others
// are tried with its successor. A collective that one rank lacks thus costs only itself,
// and it does not matter how ranks number their steps: ranks that run dummy batches
// without a marker number theirs differently.
//
// Lanes of one report share a clock. The offset of another report's clock is the median
// distance between the ends of collectives that two lanes ran in common, paired by their
// order within a step: those of all-reduces, or of another name if its ends agree clearly
// better, such as what the stages of a pipeline send. The clock may drift over a long run
// ([Clock]). Reports whose collectives end together on no clock are not of one run, and
// their ranks share no group.
//
// # Division
//
// In a match, the wait of a member is min(last start − own start, own duration − least
// duration), at least 0, at the beginning of its kernel. The rest of its duration is
// transfer.
//
// If a group is known to have more GPUs than were recorded ([Group.Partial]), the last to
// arrive may be one of the missing. Then the transfer of a lane is the least duration at
// the same place of a step (the n-th of its name), among at least four steps of the same
// phase with at least as many requests. The rest is a wait of unknown cause, and
// [Match.Estimated] is set. At a place that occurs less often nothing is known. Larger
// steps count because their transfers take no less time: where batch sizes vary, few
// steps have the same size, and even the shortest of these has mostly waited. The same
// holds for a lane that shares its collectives with no other, unless they are known to be
// of one GPU.
//
// The number of GPUs in a group is what kernels are compiled for, what the profiler says
// of each collective, or the number of ranks of the run. If no trace tells, the group is
// assumed to be complete, and [Coverage] says so.
//
// # Causes
//
// Matches are resolved in the order of their ends. The member that arrives last is
// compared with each one that waits, over the time since each left the group's previous
// matched collective (the same one for both) or since the segment began. The extra time
// of its own kernels is [Imbalance], up to the length of the wait. The rest is divided,
// in proportion, over the late lane's idle time by key and its waits in collectives of
// other groups by their keys, in that interval; the largest remainders are rounded up. If
// there is neither, the rest is [Unknown]. The parts add up to the wait, in ns. Keys are
// the caller's; this package does not interpret them.
//
// That holds for lanes that work at the same time. Lanes that meet by turns work one after
// the other: what a stage receives does not exist before the stage that sends it has
// worked. So after Imbalance the wait goes by what the late lane does in the last ns before
// it comes: idle time and waits by key, in a gap before its work, and [Sender] for its work
// and transfers. The time that a first stage waits for the last one's tokens is no cause
// of waits that it makes no longer.
//
// # Memory
//
// Ranks come one after the other, so collectives are kept in a store, at about twenty
// bytes each plus ten for each key of idle time between two of them. They are read in
// order a few times, one block per lane at a time.
package collective
