package event

// Ordinals counts the rows of each graph launch. It may forget a launch after
// maxOrdinals other launches: replays do not overlap that far.
type Ordinals struct {
	recent, before map[int64]int64 // rows so far, by correlation
}

const maxOrdinals = 1 << 15

// NewOrdinals returns an empty count.
func NewOrdinals() Ordinals { return Ordinals{map[int64]int64{}, nil} }

// Next returns how many earlier rows the launch with that correlation had.
func (o *Ordinals) Next(id int64) int64 {
	n, ok := o.recent[id]
	if !ok {
		n = o.before[id]
		if len(o.recent) == maxOrdinals {
			o.recent, o.before = make(map[int64]int64, maxOrdinals), o.recent
		}
	}
	o.recent[id] = n + 1
	return n
}
