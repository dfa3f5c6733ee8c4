package findings

// Least, 1.5 %: the share of a step that a finding brings at least. What two runs of the same
// program differ by (testdata/h100) is below that.
const Least = 0.015

// most, half: the share of what hiding host work would bring from which on one operation is most of
// that work. Source: SPEC 7, what is named explains half of a change.
const most = 0.5

// maxOfPattern, 3: how many findings of one entry there are at most; more say the same again.
const maxOfPattern = 3

// maxSites, 12: how many paths one finding is about at most, those with most idle time. The
// others have less than a twelfth of it each.
const maxSites = 12

// maxListed, 6: how many steps a sentence lists.
const maxListed = 6
