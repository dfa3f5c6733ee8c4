package event

// replaysKept is how many graph replays are remembered at least, to know the first row of each: far more
// than can be running at a time. Reason: memory that does not depend on the stream's length.
const replaysKept = 1 << 15
