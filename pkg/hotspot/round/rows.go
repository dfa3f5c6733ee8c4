package round

import "github.com/hostbound/hostbound/pkg/trace/table"

// Rows returns the rounds as rows.
func (res *Result) Rows() *table.Table {
	columns := "round text, against text, total_us float, steps int, us_per_step float, change_pct float"
	for _, m := range Metrics {
		columns += ", " + string(m) + " float"
	}
	t := table.New("rounds", 1, table.Fields(columns+", verdict text, roll_back bool")...)
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
