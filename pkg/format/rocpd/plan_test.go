package rocpd

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// TestPlan wants calls looked up by an index of their correlation: by anything else the time is
// quadratic in the rows.
func TestPlan(t *testing.T) {
	db, err := sqlite.Open(write(t, shown, sim.RocpdOptions{})[0])
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var plan strings.Builder
	query := strings.NewReplacer("ID\"", "_0197a3c2_5f10_7c4e_9b1d_000000000000\"", "CALLS", "1", "NODE", "NULL").Replace(rowsQuery)
	err = db.Query("EXPLAIN QUERY PLAN "+query, []sqlite.Type{sqlite.Int, sqlite.Int, sqlite.Int, sqlite.Text}, func(b *sqlite.Block) error {
		for i := range b.N {
			plan.WriteString(string(b.Cols[3].Text(i)) + "\n")
		}
		return nil
	})
	if want := "SEARCH call USING AUTOMATIC COVERING INDEX (k=?)"; err != nil || !strings.Contains(plan.String(), want) {
		t.Errorf("%v\n%s\nno %s", err, plan.String(), want)
	}
}
