package lineprof

import (
	"fmt"
	"math"
	"strings"
)

// layout is a generation of line_profiler's table.
type layout int

const (
	upTo40 layout = iota // widths are minima for each row, numbers are printed in full
	from41               // widths grow with the table, long numbers have one digit
	from5                // three digits
)

// truth is a function as a test makes it up, in whole units.
type truth struct {
	name, path string
	line       int
	rows       []truthRow
}

type truthRow struct {
	hits, time int64 // hits 0: never ran
	source     string
}

func (f *truth) total() (units float64) {
	for _, r := range f.rows {
		units += float64(r.time)
	}
	return units
}

// write prints functions as line_profiler of that generation does.
func write(fns []truth, unit float64, l layout) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Timer unit: %g s\n\n", unit)
	for i := range fns {
		fns[i].write(&b, unit, l)
	}
	return b.String()
}

func (f *truth) write(b *strings.Builder, unit float64, l layout) {
	fmt.Fprintf(b, "Total time: %g s\nFile: %s\nFunction: %s at line %d\n\n", f.total()*unit, f.path, f.name, f.line)
	widths := []int{6, 9, 12, 8, 8}
	var rows [][]string
	for i, r := range f.rows {
		fields := append([]string{fmt.Sprint(f.line + i)}, r.fields(f.total(), widths, l)...)
		rows = append(rows, fields)
	}
	if l != upTo40 {
		for _, fields := range rows {
			for i, s := range fields[1:4] {
				widths[i+1] = max(widths[i+1], len(s))
			}
		}
	}
	header := format(widths, []string{"Line #", "Hits", "Time", "Per Hit", "% Time"}, "Line Contents")
	fmt.Fprintf(b, "%s\n%s\n", header, strings.Repeat("=", len(header)))
	for i, fields := range rows {
		fmt.Fprintln(b, format(widths, fields, f.rows[i].source))
	}
	b.WriteByte('\n')
}

func format(widths []int, fields []string, source string) string {
	var b strings.Builder
	for i, s := range fields {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%*s", widths[i], s)
	}
	return b.String() + "  " + source
}

// fields are hits, time, time per hit and share as printed.
func (r truthRow) fields(total float64, widths []int, l layout) []string {
	if r.hits == 0 {
		return []string{"", "", "", ""}
	}
	hits := fmt.Sprint(r.hits)
	time := fmt.Sprintf("%5.1f", float64(r.time))
	perHit := fmt.Sprintf("%5.1f", float64(r.time)/float64(r.hits))
	share := ""
	if total > 0 {
		share = fmt.Sprintf("%5.1f", 100*float64(r.time)/total)
	}
	if l != upTo40 {
		digits := map[layout]string{from41: "%5.1g", from5: "%5.3g"}[l]
		if len(time) > widths[2] {
			time = fmt.Sprintf(digits, float64(r.time))
		}
		if len(perHit) > widths[3] {
			perHit = fmt.Sprintf(digits, float64(r.time)/float64(r.hits))
		}
		if len(hits) > widths[1] {
			hits = fmt.Sprintf("%g", math.Round(float64(r.hits)))
			if !strings.Contains(hits, "e") {
				hits = fmt.Sprintf("%.5e", float64(r.hits))
			}
		}
	}
	return []string{hits, time, perHit, share}
}
