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
	events bool     // there is an array of them
	named  bool     // the document calls it traceEvents
	base   int64    // ns since 1970 that times are relative to
	based  bool     // it says so
	rank   int32    // of the process among those of its run
	ranked bool     // it says so
	gpus   []string // models of the devices, each once
	amd    bool     // a device is AMD's
	world  int      // how many processes its run had, 0 where it does not say
}

// member reads a member of the document. All others, the host's and the user's
// name, the command and the addresses of process groups among them, are left alone.
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

// guess looks for the base time in what follows events that are broken at the end.
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

// Names of files that say whose trace it is, the surest first: rank0, TP-0,
// worker0.
var rankNames = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(?:^|[^a-z])rank[-_]?(\d{1,6})`),
	regexp.MustCompile(`(?i)(?:^|[^a-z])tp[-_]?(\d{1,6})`),
	regexp.MustCompile(`(?i)(?:^|[^a-z])worker[-_]?(\d{1,6})`),
}

// rankOfName returns the rank that a file's name says, the last where it says
// several.
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

// place is what names of files say of a process's place among others, of each kind of
// parallelism: dp1_pp0_tp0_dcp0_ep1_rank0 (vLLM), TP-0-DP-1-EP-1 (SGLang).
var place = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:dp|pp|tp|ep|d?cp|rank|worker)[-_]?(\d{1,6})`)

// placeOfName returns the numbers of the place that a file's name says, in the order in which
// they stand there.
func placeOfName(path string) (at []int) {
	for _, m := range place.FindAllStringSubmatch(filepath.Base(path), -1) {
		n, _ := strconv.Atoi(m[1]) // six digits
		at = append(at, n)
	}
	return at
}
