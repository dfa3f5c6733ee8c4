package hotspot

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// Document is the catalogue for people: of each type what it is, what it is recognised by,
// and what to do about it, with the sources.
func (c *Catalogue) Document() *report.Document {
	d, first := report.New(report.Plain("Types of host waste"))
	first.Say("In the order in which they are tried. A line that matches none is COMPUTE.")
	for _, t := range c.Types {
		s := d.Section(string(t.Name))
		s.Say("Severity %s. The line %s.", string(t.Severity), t.What)
		s.Say("Evidence: %s. Source: %s", t.Evidence, t.Source)
		for _, o := range c.Remedies {
			if o.Type == t.Name {
				only := strings.Join(append(o.Evidence, o.Sub), " ")
				if strings.TrimSpace(only) != "" {
					only = " Only for: " + strings.TrimSpace(strings.Join(append(o.Evidence, o.Sub), ", ")) + "."
				}
				s.Number("%s: %s. Saves %.0f to %.0f %% of the hotspot; risk %s, complexity %s.%s Source: %s", report.Strong(o.Option),
					strings.TrimSuffix(o.Description, "."), 100*o.Savings[0], 100*o.Savings[1], string(o.Risk), o.Complexity, only, o.Source)
			}
		}
	}
	return d
}
