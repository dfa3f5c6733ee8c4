package nsys

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// maxCPUStat is how many bytes are read of the file beside a report, which has a dozen
// lines.
const maxCPUStat = 4096

// throttled reads the file that capture.sh writes beside a report, named .cpu.stat
// instead of the report's extension. It has the kernel's counters of a CPU limit before
// and after the recording: a word, a counter of cpu.stat and its value per line. nil if
// there is no such file or no counter.
func throttled(path string) *event.Throttled {
	base := strings.TrimSuffix(filepath.Clean(path), filepath.Ext(path))
	base = strings.TrimSuffix(base, "_pqtdir")
	f, err := os.Open(base + ".cpu.stat")
	if err != nil {
		return nil
	}
	defer f.Close()
	counters := map[string]int64{}
	for s, n := bufio.NewScanner(f), 0; s.Scan() && n < maxCPUStat; n += len(s.Bytes()) {
		words := strings.Fields(s.Text())
		if len(words) != 3 {
			continue
		}
		if v, err := strconv.ParseInt(words[2], 10, 64); err == nil && v >= 0 {
			switch words[0] {
			case "before":
				counters[words[1]] -= v
			case "after":
				counters[words[1]] += v
			}
		}
	}
	t := &event.Throttled{Periods: counters["nr_periods"], Stopped: counters["nr_throttled"]}
	if t.Periods <= 0 || t.Stopped < 0 || t.Stopped > t.Periods {
		return nil
	}
	return t
}
