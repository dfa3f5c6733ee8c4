package hotspot

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/table"
)

// HotspotRows returns the hotspots as rows, one per line. They contain source text only
// if source is set: rows go on to streams and databases.
func (r *Report) HotspotRows(source bool) *table.Table {
	columns := "function text, file text, line int, last_line int, hits int, time_us float, per_hit_us float, us_per_step float, " +
		"share float, share_of_function float, type text, sub_kind text, types text, severity text, confidence text, scope text, " +
		"exposed_us_per_step float, option text, risk text, tests text"
	if source {
		columns += ", source text"
	}
	t := table.New("hotspot_lines", 1, table.Fields(columns)...)
	for i := range r.Hotspots {
		h := &r.Hotspots[i]
		var option, risk any
		if len(h.Options) > 0 {
			option, risk = h.Options[0].Option, string(h.Options[0].Risk)
		}
		types := make([]string, len(h.Types))
		for k, typ := range h.Types {
			types[k] = string(typ)
		}
		row := []any{h.Function, h.File, h.Line, h.LastLine, h.Hits, h.TimeUs, h.PerHitUs, h.UsPerStep, h.Share, h.ShareOfFunction,
			string(h.Type), h.Sub, strings.Join(types, ";"), string(h.Severity), string(h.Confidence), string(h.Scope), h.ExposedUsPerStep,
			option, risk, strings.Join(h.Tests, ";")}
		if source {
			row = append(row, h.Source)
		}
		t.Append(row...)
	}
	return t
}
