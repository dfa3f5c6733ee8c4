package compare

// sameShare is the share of the wall time within which two runs count as the same, and
// beyond which a longer one is a regression. Source: the specification's direction, ±1 %.
const sameShare = 0.01
