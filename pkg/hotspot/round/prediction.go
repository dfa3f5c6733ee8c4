package round

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hostbound/hostbound/pkg/hotspot"
	"github.com/hostbound/hostbound/pkg/report"
)

// Prediction is the predicted and the actual gain of a change, as the time by which a
// step is shorter, in us.
type Prediction struct {
	By       string      `json:"by"`           // Replay or Profile
	Us       float64     `json:"predicted_us"` // per step
	CameUs   *float64    `json:"came_us"`      // actual, per step; null if it was not measured in the same way
	CameCIUs *[2]float64 `json:"came_ci_us"`   // its 95 % interval; null if unknown, and for profiles
}

// Sources of predictions.
const (
	Replay  = "whatif"  // replay of a trace; compared with the traces of both rounds
	Profile = "profile" // time of the line; compared with the profiled time of both rounds
)

// Moved is by how much the steps of a round are longer than those of the round that it
// is compared with, by the traces of both.
type Moved struct {
	DeltaUs float64     // mean after less mean before, us
	Pct     float64     // in percent of the mean before
	CIUs    *[2]float64 // 95 % interval of DeltaUs in us, nil if unknown
}

// pct converts a time in us to percent of the steps before.
func (m *Moved) pct(us float64) float64 {
	if m.DeltaUs == 0 {
		return 0
	}
	return us * m.Pct / m.DeltaUs
}

// ReadMoved reads it from diff's JSON about both traces.
func ReadMoved(r io.Reader) (*Moved, error) {
	var d struct {
		Summary []struct {
			Name  string      `json:"name"`
			Delta *float64    `json:"delta_us"`
			Pct   *float64    `json:"delta_percent"`
			CI    *[2]float64 `json:"ci_us"`
		} `json:"summary"`
	}
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("not the JSON of diff: %w", err)
	}
	for _, row := range d.Summary {
		if row.Name == "wall" && row.Delta != nil && row.Pct != nil {
			return &Moved{*row.Delta, *row.Pct, row.CI}, nil
		}
	}
	return nil, errors.New("not the JSON of diff: no change of the wall time in it")
}

// predict finds what the round before predicted for the target, and compares it with
// the outcome.
func (r *Round) predict(before *hotspot.Report, moved *Moved) {
	if r.Target == nil {
		return
	}
	key := keyOf(r.Target.File, r.Target.Function)
	for i := range before.Hotspots {
		h := &before.Hotspots[i]
		if keyOf(h.File, h.Function) != key || r.Target.Line < h.Line || r.Target.Line > h.LastLine {
			continue
		}
		switch {
		case h.GainUsPerStep != nil:
			r.Prediction = &Prediction{By: Replay, Us: *h.GainUsPerStep}
			if moved != nil {
				r.Prediction.CameUs = new(-moved.DeltaUs)
				if moved.CIUs != nil {
					r.Prediction.CameCIUs = &[2]float64{-moved.CIUs[1], -moved.CIUs[0]}
				}
			}
		case h.UsPerStep != nil:
			r.Prediction = &Prediction{By: Profile, Us: *h.UsPerStep}
			if r.PerStep && r.ChangeUs != nil {
				r.Prediction.CameUs = new(-*r.ChangeUs)
			}
		}
		return
	}
}

// say reports the prediction and the outcome.
func (p *Prediction) say(s *report.Section) {
	said := fmt.Sprintf("Predicted: steps shorter by %s without this line (by %s)", report.Micros(p.Us), p.By)
	if p.CameUs == nil {
		s.Say("%s; not measured in the same way.", said)
		return
	}
	said += fmt.Sprintf("; measured: %s", report.Micros(*p.CameUs))
	if p.CameCIUs != nil {
		said += fmt.Sprintf(", 95 %% interval %s to %s", report.Micros(p.CameCIUs[0]), report.Micros(p.CameCIUs[1]))
	}
	if p.Us > 0 && *p.CameUs > 0 {
		said += fmt.Sprintf(", %s of the prediction", report.Percent(*p.CameUs/p.Us))
	}
	s.Say("%s.", said)
}
