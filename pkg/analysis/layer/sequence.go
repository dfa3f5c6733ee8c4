package layer

import (
	"math"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// busiestShare: if one stream has this share of a step's kernels, only that stream is
// used.
const busiestShare = 0.8

// sequences returns the kernels of each step's busiest stream, or of all streams if none
// has most of them.
func sequences(steps [][]Sampled, name func(int32) string) [][]Kernel {
	s := symbols{name: name, stems: map[string]int32{}, of: map[int32]symbolClass{}}
	all := make([][]Kernel, len(steps))
	for i, step := range steps {
		stream, most := busiest(step)
		one := float64(most) >= busiestShare*float64(len(step))
		stop := int64(math.MaxInt64)
		for j := range step {
			k := &step[j]
			if one && k.Stream != stream {
				continue
			}
			is := s.symbol(k)
			all[i] = append(all[i], Kernel{Symbol: is.symbol, Class: is.class, Name: k.Name, Start: k.Start, End: k.End, Stop: stop})
			if stop == math.MaxInt64 {
				stop = math.MinInt64
			}
			stop = max(stop, k.End)
		}
	}
	return all
}

// busiest returns the stream with the most kernels, and their number.
func busiest(step []Sampled) (stream int32, most int) {
	counts := map[int32]int{}
	for i := range step {
		s := step[i].Stream
		counts[s]++
		if counts[s] > most {
			stream, most = s, counts[s]
		}
	}
	return stream, most
}

// symbols assigns symbols to kernels by the stems of their names.
type symbols struct {
	name  func(int32) string
	stems map[string]int32
	of    map[int32]symbolClass // by name
}

// symbolClass is the symbol of a kernel, and its class as to its part in a layer.
type symbolClass struct{ symbol, class int32 }

func (s *symbols) symbol(k *Sampled) symbolClass {
	is, ok := s.of[k.Name]
	if ok {
		return is
	}
	name := s.name(k.Name)
	role := roleOf(k.Class, name)
	class := "other"
	if k.Class >= 0 && role != mixerClass {
		class = event.Classes[k.Class]
	}
	stem := Stem(class, name)
	n, ok := s.stems[stem]
	if !ok {
		n = int32(len(s.stems))
		s.stems[stem] = n
	}
	is = symbolClass{n, role}
	s.of[k.Name] = is
	return is
}
