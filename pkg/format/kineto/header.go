package kineto

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxWorld is more ranks than any run has.
const maxWorld = 1 << 24

// header is what the document says besides its events.
type header struct {
	events bool     // there is an array of events
	named  bool     // its key is traceEvents
	base   int64    // ns since 1970, base of the times
	based  bool     // the document states base
	rank   int32    // of the process in its run
	ranked bool     // the document states rank
	gpus   []string // device models, each once
	amd    bool     // there is an AMD device
	world  int      // number of processes of the run, 0 if not stated
}

// member reads a member of the document. It skips all others, among them host and user
// names, the command and addresses of process groups.
func (h *header) member(key string, value []byte) {
	switch key {
	case "baseTimeNanoseconds":
		if base, ok := integer(value); ok && base >= 0 && base <= 2_800_000_000_000_000_000 {
			h.base, h.based = base, true
		}
	case "deviceProperties":
		var devices []struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(value, &devices) == nil {
			for _, d := range devices {
				if d.Name != "" && !slices.Contains(h.gpus, d.Name) {
					h.gpus = append(h.gpus, d.Name)
				}
				h.amd = h.amd || strings.HasPrefix(d.Name, "AMD ")
			}
		}
	case "distributedInfo":
		var info struct {
			Rank  *int32 `json:"rank"`
			World any    `json:"world_size"`
		}
		if json.Unmarshal(value, &info) == nil && info.Rank != nil && *info.Rank >= 0 {
			h.rank, h.ranked = *info.Rank, true
			if n, ok := info.World.(float64); ok && n > float64(h.rank) && n <= maxWorld {
				h.world = int(n)
			}
		}
	}
}

// guess looks for the base time in what follows a broken array of events.
func (h *header) guess(tail []byte) {
	key := []byte(`"baseTimeNanoseconds"`)
	if i := bytes.LastIndex(tail, key); i >= 0 && !h.based {
		tail = tail[i+len(key):]
		if i = skipSpace(tail, 0); i < len(tail) && tail[i] == ':' {
			i = skipSpace(tail, i+1)
			h.member("baseTimeNanoseconds", tail[i:min(anyEnd(tail, i), len(tail))])
		}
	}
}

// Parts of file names that tell whose trace it is, the most reliable first: rank0,
// TP-0, worker0.
var rankNames = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(?:^|[^a-z])rank[-_]?(\d{1,6})`),
	regexp.MustCompile(`(?i)(?:^|[^a-z])tp[-_]?(\d{1,6})`),
	regexp.MustCompile(`(?i)(?:^|[^a-z])worker[-_]?(\d{1,6})`),
}

// rankOfName returns the rank in a file's name, the last one if there are several.
func rankOfName(path string) (int32, bool) {
	name := filepath.Base(path)
	for _, re := range rankNames {
		if all := re.FindAllStringSubmatch(name, -1); len(all) > 0 {
			if n, err := strconv.ParseInt(all[len(all)-1][1], 10, 32); err == nil {
				return int32(n), true
			}
		}
	}
	return 0, false
}

// place matches a process's place in each kind of parallelism in file names:
// dp1_pp0_tp0_dcp0_ep1_rank0 (vLLM), TP-0-DP-1-EP-1 (SGLang).
var place = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:dp|pp|tp|ep|d?cp|rank|worker)[-_]?(\d{1,6})`)

// placeOfName returns the numbers of that place in order, nil if the name has none.
func placeOfName(path string) (at []int) {
	for _, m := range place.FindAllStringSubmatch(filepath.Base(path), -1) {
		n, _ := strconv.Atoi(m[1]) // at most six digits: no error
		at = append(at, n)
	}
	return at
}
