package round

import "github.com/hostbound/hostbound/pkg/table"

// Rows are the rounds as rows.
func (res *Result) Rows() *table.Table {
	fields := []table.Field{{Name: "round", Type: table.Text}, {Name: "against", Type: table.Text}, {Name: "total_us", Type: table.Float},
		{Name: "steps", Type: table.Int}, {Name: "us_per_step", Type: table.Float}, {Name: "change_pct", Type: table.Float}}
	for _, m := range Metrics {
		fields = append(fields, table.Field{Name: string(m), Type: table.Float})
	}
	fields = append(fields, table.Field{Name: "verdict", Type: table.Text}, table.Field{Name: "roll_back", Type: table.Bool})
	t := table.New("rounds", 1, fields...)
	for i := range res.Rounds {
		r := &res.Rounds[i]
		row := []any{r.Name, r.Against, r.TotalUs, r.Steps, r.UsPerStep, r.ChangePct}
		for _, m := range Metrics {
			row = append(row, r.mean(m))
		}
		t.Append(append(row, string(r.Verdict), r.RollBack)...)
	}
	return t
}
