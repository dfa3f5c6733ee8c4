package step

import "github.com/hostbound/hostbound/pkg/stat"

// Spells are a thread's waits, in order. Short ones are left out, and those with hardly
// any time between them are merged: a thread that waits with a time-out waits again.
type Spells []stat.Span

// Add adds a wait from from to to, ns, which must not start before earlier ones. Beyond
// maxSpells none is added.
func (s *Spells) Add(from, to int64) {
	if n := len(*s); n > 0 && from <= (*s)[n-1].To+minSpell {
		(*s)[n-1].To = max((*s)[n-1].To, to)
	} else if n < maxSpells && to-from >= minSpell {
		*s = append(*s, stat.Span{From: from, To: to})
	}
}

// Follow reports whether the thread with waits s is woken by the thread with waits
// other. In nine tenths of the time that both wait, other's wait must end first, and s's
// soon after: within half of the time that both wait.
func (s Spells) Follow(other Spells) bool {
	both, after := int64(0), int64(0)
	for i, j := 0, 0; i < len(s) && j < len(other); {
		own, its := s[i], other[j]
		if ns := own.Clip(its).Len(); ns > 0 {
			both += ns
			if late := own.To - its.To; late > 0 && !stat.MostOf(late, ns) {
				after += ns
			}
		}
		if own.To < its.To {
			i++
		} else {
			j++
		}
	}
	return both > 0 && float64(after) >= Enough*float64(both)
}
