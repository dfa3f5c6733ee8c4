package report

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"regexp"
	"strings"
)

// Brief is a report for a program that reads little: an agent, a chat, a status line.
// As JSON it takes at most [BriefLimit] bytes.
type Brief struct {
	Answer     string      `json:"answer"`      // one sentence
	Conclusion string      `json:"conclusion"`  // in the words of the report's JSON: YES, host_in_step, …
	Items      []BriefItem `json:"items"`       // what it rests on, or what to do, the most important first
	CannotTell []string    `json:"cannot_tell"` // what is missing, and the option that records it
	Next       *string     `json:"next"`        // the command to run, null where there is none
}

// BriefItem is one thing that can be ticked off.
type BriefItem struct {
	ID          string      `json:"id"`           // the same in each run of the same code
	Claim       string      `json:"claim"`        // what it is, with what to do about it where that is known
	MagnitudeUs *float64    `json:"magnitude_us"` // per step, null where it has none in time
	CIUs        *[2]float64 `json:"ci_us"`        // its 95 % interval, null where there is none
	Evidence    string      `json:"evidence"`     // the figures that it rests on
	Where       *string     `json:"where"`        // range, call or line, null where there is no place
}

// Limits of a brief report.
const (
	BriefLimit = 2048 // bytes. Source: the promise of --brief, "at most 2 kB"
	briefItems = 5    // Source: the same
)

var notInID = regexp.MustCompile(`[^a-z0-9_.#]+`)

// maxID is the length of an id above which its end is a hash. Unit: bytes.
const maxID = 56

// BriefID makes the id of an item of what it is and where: names alone, no figures, so
// that it is the same in each run.
func BriefID(parts ...string) string {
	id := strings.Trim(notInID.ReplaceAllString(strings.ToLower(strings.Join(parts, ":")), "-"), "-")
	if len(id) <= maxID {
		return id
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return fmt.Sprintf("%s-%08x", id[:maxID-9], h.Sum32())
}

// Fit makes the report small enough, and the claims fit to be read: long names are cut in
// their middle, then what is missing is left out from the end, then items are. An item that
// was left out is said to have been.
func (b *Brief) Fit() *Brief {
	if b.Items == nil {
		b.Items = []BriefItem{}
	}
	if b.CannotTell == nil {
		b.CannotTell = []string{}
	}
	b.Items = b.Items[:min(len(b.Items), briefItems)]
	for i := range b.Items {
		item := &b.Items[i]
		if item.Where != nil { // too long a place cannot be read
			item.Where = new(shorten(*item.Where, 2*maxName, true))
		}
		if item.MagnitudeUs != nil {
			item.MagnitudeUs = new(toNs(*item.MagnitudeUs))
		}
		if item.CIUs != nil {
			item.CIUs = &[2]float64{toNs(item.CIUs[0]), toNs(item.CIUs[1])}
		}
	}
	for b.size() > BriefLimit {
		switch {
		case len(b.CannotTell) > 1:
			b.CannotTell = b.CannotTell[:len(b.CannotTell)-1]
		case len(b.Items) > 1:
			b.Items = b.Items[:len(b.Items)-1]
		case len(b.CannotTell) > 0:
			b.CannotTell = b.CannotTell[:0]
		default:
			b.Answer = shorten(b.Answer, 400, true)
			for i := range b.Items {
				b.Items[i].Claim, b.Items[i].Evidence = shorten(b.Items[i].Claim, 300, true), shorten(b.Items[i].Evidence, 200, true)
			}
			return b
		}
	}
	return b
}

func toNs(us float64) float64 { return math.Round(us*1e3) / 1e3 }

func (b *Brief) size() int {
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return len(text)
}
