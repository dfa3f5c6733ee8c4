package hotspot

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/table"
)

// HotspotRows are the hotspots as rows, a line each. Source text is in them only where
// the caller asks for it: rows go on into streams and databases.
func (r *Report) HotspotRows(source bool) *table.Table {
	fields := []table.Field{
		{Name: "function", Type: table.Text}, {Name: "file", Type: table.Text}, {Name: "line", Type: table.Int}, {Name: "last_line", Type: table.Int},
		{Name: "hits", Type: table.Int}, {Name: "time_us", Type: table.Float}, {Name: "per_hit_us", Type: table.Float}, {Name: "us_per_step", Type: table.Float},
		{Name: "share", Type: table.Float}, {Name: "share_of_function", Type: table.Float},
		{Name: "type", Type: table.Text}, {Name: "sub_kind", Type: table.Text}, {Name: "types", Type: table.Text}, {Name: "severity", Type: table.Text},
		{Name: "confidence", Type: table.Text}, {Name: "scope", Type: table.Text}, {Name: "exposed_us_per_step", Type: table.Float},
		{Name: "option", Type: table.Text}, {Name: "risk", Type: table.Text}, {Name: "tests", Type: table.Text},
	}
	if source {
		fields = append(fields, table.Field{Name: "source", Type: table.Text})
	}
	t := table.New("hotspots", 1, fields...)
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

// FunctionRows are the functions as rows.
func (r *Report) FunctionRows() *table.Table {
	t := table.New("hotspot_functions", 1,
		table.Field{Name: "function", Type: table.Text}, table.Field{Name: "file", Type: table.Text}, table.Field{Name: "line", Type: table.Int},
		table.Field{Name: "total_us", Type: table.Float}, table.Field{Name: "hits", Type: table.Int}, table.Field{Name: "share", Type: table.Float}, table.Field{Name: "root", Type: table.Bool})
	for _, f := range r.Functions {
		t.Append(f.Function, f.File, f.Line, f.TotalUs, f.Hits, f.Share, f.Root)
	}
	return t
}
