package step

import "github.com/hostbound/hostbound/pkg/stat"

// Spells are stretches of waiting, in order. Short ones are left out, and those that hardly
// anything lies between are one: who waits with a time-out waits again.
type Spells []stat.Span

// Add adds a stretch, which starts no earlier than those before.
func (s *Spells) Add(from, to int64) {
	if n := len(*s); n > 0 && from <= (*s)[n-1].To+minSpell {
		(*s)[n-1].To = max((*s)[n-1].To, to)
	} else if n < maxSpells && to-from >= minSpell {
		*s = append(*s, stat.Span{From: from, To: to})
	}
}

// Follow reports whether who waits so is let go on by who waits in spells of another list: of
// the time that both wait, nine tenths are in pairs of which the other's ends first, and its own
// soon after (within half the time that both wait).
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
