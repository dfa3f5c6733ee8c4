package findings

// Least, 1.5 %: the least gain of a finding, as a share of a step. Two runs of the same program
// differ by less (testdata/h100).
const Least = 0.015

// most, half: one operation is most of the host work if it brings more than this share of what
// hiding all host work would bring. Source: SPEC 7, what is named explains half of a change.
const most = 0.5

// maxOfPattern, 3: the most findings of one pattern; more would repeat the same advice.
const maxOfPattern = 3

// maxSites, 12: the most facts that are treated for one finding, those with the most idle time.
// Each of the others has less than a twelfth of it.
const maxSites = 12

// maxListed, 6: the most steps that a sentence lists.
const maxListed = 6
