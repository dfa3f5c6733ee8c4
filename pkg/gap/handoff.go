package gap

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
)

// Handoff is what whoever optimises the run starts from. What this report does not say is
// null.
type Handoff struct {
	// Verdict and HostPrepConfirmed are for the filters verdict and diff to give.
	Verdict           *string `json:"verdict"`
	HostPrepConfirmed *bool   `json:"host_prep_confirmed"`
	// Phase is the one with more idle time.
	Phase *string `json:"primary_bottleneck_phase"`
	// TopIdleCauses are the largest causes of idle time on the host.
	TopIdleCauses []IdleTarget `json:"top_idle_causes"`
	// FirstTarget is the function to look at first: that of the finding which is worth
	// most idle time, or of the host operation in which the GPU waits longer.
	FirstTarget *string `json:"recommended_first_target"`
	// Per rank-step, null without steps.
	Idle    *float64 `json:"idle_us_per_step"`
	Wall    *float64 `json:"wall_time_per_step_us"`
	Kernels *float64 `json:"kernels_per_step"`
}

// IdleTarget is a cause of idle time.
type IdleTarget struct {
	Cause     string   `json:"cause"`
	UsPerStep *float64 `json:"us_per_step"` // null without steps
	Path      string   `json:"path,omitempty"`
	Source    string   `json:"source,omitempty"`
}

// maxTargets is how many causes the hand-off names.
const maxTargets = 5

// handoff makes the hand-off of a report.
func (r *Report) handoff() Handoff {
	h := Handoff{TopIdleCauses: []IdleTarget{}}
	for _, c := range r.Idle.Causes {
		if onHost(c.Cause) && c.Share >= minIdleShare && len(h.TopIdleCauses) < maxTargets {
			h.TopIdleCauses = append(h.TopIdleCauses, IdleTarget{c.Cause, c.UsPerStep, c.Path, c.Source})
		}
	}
	most := 0.0
	for _, p := range r.Idle.Phases {
		if p.TotalUs > most && p.Phase != event.Phases[event.Unknown] {
			phase := p.Phase
			h.Phase, most = &phase, p.TotalUs
		}
	}
	h.FirstTarget = r.firstTarget()
	if n := r.Idle.Steps; n > 0 && r.Idle.Window == WindowBenchmark {
		h.Idle, h.Wall, h.Kernels = perStep(r.Idle.TotalUs, n), perStep(r.Idle.WindowUs, n), perStep(float64(r.Graph.Kernels), n)
	}
	return h
}

// onHost tells whether a cause of idle time is what a host thread does.
func onHost(cause string) bool {
	switch cause {
	case "graph", "queued", "tail", "untraced":
		return false
	}
	return true
}

// firstTarget returns what to look at first, nil for nothing.
func (r *Report) firstTarget() *string {
	steps := float64(max(1, r.Idle.Steps))
	most, target := 0.0, ""
	for _, f := range r.Findings {
		name := f.Source
		if name == "" {
			name = innermost(f.Path)
		}
		if name == "" {
			name = f.Site
		}
		if name != "" && f.UsStep > most {
			most, target = f.UsStep, name
		}
	}
	for _, c := range r.Idle.Causes {
		name, ok := strings.CutPrefix(c.Cause, "host:")
		if !ok || c.Share < minIdleShare || c.Us/steps <= most {
			continue
		}
		most, target = c.Us/steps, name
		if c.Source != "" {
			target = c.Source
		}
	}
	if target == "" {
		return nil
	}
	return &target
}
