package event

// Ordinals count the rows of each graph launch. Of launches whose last row came
// maxOrdinals others ago it may forget: replays do not run into each other that far.
type Ordinals struct {
	recent, before map[int64]int64 // rows so far, by correlation
}

const maxOrdinals = 1 << 15

// NewOrdinals returns those of no launches.
func NewOrdinals() Ordinals { return Ordinals{map[int64]int64{}, nil} }

// Next returns how many rows of a launch came before this one.
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
