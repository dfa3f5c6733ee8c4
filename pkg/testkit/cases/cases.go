// Package cases says how many of its cases a test runs: few with -short, some by default,
// and all if HOSTBOUND_ALL is set, as .ci/run does. It imports nothing of hostbound, so
// that it adds nothing to a test's binary.
package cases

import (
	"os"
	"testing"
)

// Few returns how many cases a test runs: short with -short, all if HOSTBOUND_ALL is set,
// otherwise some.
func Few(short, some, all int) int {
	switch {
	case testing.Short():
		return short
	case os.Getenv("HOSTBOUND_ALL") != "":
		return all
	}
	return some
}

// Turn reports whether a test runs its case k: every case if HOSTBOUND_ALL is set,
// otherwise one in of, beginning with case 0.
func Turn(k, of int) bool { return k%Few(of, of, 1) == 0 }

// All skips a test unless HOSTBOUND_ALL is set. It is for tests that take many seconds,
// or that repeat cheaper ones on more data.
func All(t testing.TB) {
	t.Helper()
	if Few(0, 0, 1) == 0 {
		t.Skip("it takes many seconds: HOSTBOUND_ALL=1 takes it")
	}
}

// Whole skips a test with -short. It is for tests that take seconds and whose subject
// other tests cover, too.
func Whole(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes seconds: not with -short")
	}
}
