package gap

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report"
)

// targetOf returns what a finding is about, for the hand-off: a function if known, else a
// range, a call, or what threads wait for. It returns "" for low load, which is no target.
func targetOf(f *findings.Finding) string {
	if f == nil || f.Pattern == lowLoad {
		return ""
	}
	return cmp.Or(text(f.Source), findings.Innermost(text(f.Path)), text(f.Site), f.Target)
}

// lowLoad is the pattern of GPUs that wait for requests.
const lowLoad = "LOW_LOAD"

// bounds says, for each cause of idle time that is not on the host, what bounds the steps and
// what to do next.
var bounds = map[string][2]string{
	idle.Graph.String():    {"between kernels of one graph replay", "'gaps --report pattern' shows before which kernels: fuse those, or let them overlap (programmatic dependent launch)"},
	idle.Queued.String():   {"between launch and start: what a GPU needs between kernels, or waits for another stream, a copy or an event", "'gaps --report gaps' shows before which kernels"},
	idle.Tail.String():     {"after the last work recorded in the window", "record more steps"},
	idle.Untraced.String(): {"before work whose launching call was not recorded", "record CUDA calls, of all threads and processes"},
}

// bound says what bounds the steps if there is no host operation to begin with.
func (i *Idle) bound() string {
	var parts, next []string
	host := 0.0
	for k := range i.Causes {
		if b, ok := bounds[i.Causes[k].Cause]; !ok {
			host += i.Causes[k].Share
		} else if i.Causes[k].Share >= minCauseShare {
			parts, next = append(parts, report.Percent(i.Causes[k].Share)+" of the idle time is "+b[0]), append(next, b[1])
		}
	}
	if host >= minCauseShare {
		parts = append(parts, report.Percent(host)+" of the idle time is while launching threads work, but removing any one operation would not win it back")
		next = append(next, "'whatif --report' lists what would shorten steps, also while the GPUs are busy")
	}
	text := fmt.Sprintf("No host operation stands out: the GPUs are busy %s of the time", report.Percent(1-i.TotalUs/i.WindowUs))
	if len(parts) == 0 {
		return text + ", and no cause of idle time is large enough to act on."
	}
	return text + ". " + strings.Join(parts, ". ") + ". Next: " + strings.Join(next, "; ") + "."
}
