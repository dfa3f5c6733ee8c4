// Package cases says how many of its cases a test takes: few with -short, some by default, and
// all where HOSTBOUND_ALL is set, as .ci/run does. It imports nothing of hostbound, so that no
// test is linked with more for it.
package cases

import (
	"os"
	"testing"
)

// Few is how many of its cases a test takes: short with -short, all where HOSTBOUND_ALL is set,
// else some.
func Few(short, some, all int) int {
	switch {
	case testing.Short():
		return short
	case os.Getenv("HOSTBOUND_ALL") != "":
		return all
	}
	return some
}

// Turn reports whether a test takes its case k: all where HOSTBOUND_ALL is set, else one of so
// many, that of k 0 first.
func Turn(k, of int) bool { return k%Few(of, of, 1) == 0 }

// All skips a test where HOSTBOUND_ALL is not set: one that takes many seconds, or of what
// others try with less.
func All(t testing.TB) {
	t.Helper()
	if Few(0, 0, 1) == 0 {
		t.Skip("it takes many seconds: HOSTBOUND_ALL=1 takes it")
	}
}

// Whole skips a test with -short: one that takes seconds, and of what others try, too.
func Whole(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes seconds: not with -short")
	}
}
