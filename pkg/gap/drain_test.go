package gap

import "testing"

// The last wait of a thread is found before time 0, too, where reports are that began
// before the first one.
func TestLastBlocked(t *testing.T) {
	r := &rank{}
	waits := []blocked{{1, -100, -90, 0, site{}}, {1, -50, -40, 0, site{}}, {2, -30, -20, 0, site{}}, {1, 10, 20, 0, site{}}}
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
