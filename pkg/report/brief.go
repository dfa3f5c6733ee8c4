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
// As JSON it has at most [BriefLimit] bytes.
type Brief struct {
	Answer     string      `json:"answer"`      // one sentence
	Conclusion string      `json:"conclusion"`  // as in the report's JSON: YES, host_in_step, …
	Items      []BriefItem `json:"items"`       // evidence, or what to do, most important first
	CannotTell []string    `json:"cannot_tell"` // what is missing, with the option that records it
	Next       *string     `json:"next"`        // the command to run next, null if there is none
}

// BriefItem is one item of a brief report.
type BriefItem struct {
	ID          string      `json:"id"`           // the same in every run of the same code
	Claim       string      `json:"claim"`        // what it is, and what to do about it if known
	MagnitudeUs *float64    `json:"magnitude_us"` // per step, null if it is not a time
	CIUs        *[2]float64 `json:"ci_us"`        // 95 % interval of the magnitude, null if there is none
	Evidence    string      `json:"evidence"`     // the figures behind the claim
	Where       *string     `json:"where"`        // range, call or line, null if there is none
}

// Limits of a brief report.
const (
	BriefLimit = 2048 // bytes. Source: --brief promises "at most 2 kB"
	briefItems = 5    // Source: --brief promises "up to five items"
)

var notInID = regexp.MustCompile(`[^a-z0-9_.#]+`)

// maxID is the longest id, in bytes; a longer one ends in a hash.
const maxID = 56

// BriefID returns the id of an item from its kind and place: names without figures, so
// that it is the same in every run.
func BriefID(parts ...string) string {
	id := strings.Trim(notInID.ReplaceAllString(strings.ToLower(strings.Join(parts, ":")), "-"), "-")
	if len(id) <= maxID {
		return id
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return fmt.Sprintf("%s-%08x", id[:maxID-9], h.Sum32())
}

// Fit makes the report small enough and its claims readable. It cuts long names in the
// middle, then drops entries of CannotTell from the end, then items. Dropped items are
// mentioned.
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
