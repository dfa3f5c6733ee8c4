package gap

import "testing"

// The last wait of a thread is found before time 0, too, where reports are that began
// before the first one.
func TestLastBlocked(t *testing.T) {
	r := &rank{}
	waits := []blocked{{thread: 1, start: -100, end: -90}, {thread: 1, start: -50, end: -40}, {thread: 2, start: -30, end: -20}, {thread: 1, start: 10, end: 20}}
	r.numBlocked = copy(r.blocked[:], waits)
	for _, c := range []struct {
		thread, before int64
		want           blocked
	}{{1, -100, blocked{}}, {1, -60, waits[0]}, {1, -10, waits[1]}, {1, 11, waits[3]}, {2, 11, waits[2]}, {3, 11, blocked{}}} {
		if got := r.lastBlocked(c.thread, c.before); got != c.want {
			t.Errorf("of thread %d before %d: %v, want %v", c.thread, c.before, got, c.want)
		}
	}
}
