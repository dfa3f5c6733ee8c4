package event

import (
	"slices"
	"sync"
)

// Values of kind and class that nobody here knows get codes after ours while
// they are read, and are passed on by their names; analyses look for codes that
// they know and ignore these. Readers add them when they open their input, before
// anything else looks at the lists.

// MaxKinds and MaxClasses bound the codes: sets of them are integers of bits.
const (
	MaxKinds   = 32
	MaxClasses = 64
)

var adding sync.Mutex

// AddKind returns the code of a kind, a new one where it has none yet, -1 where
// there are too many.
func AddKind(name string) Kind { return Kind(add(&Kinds, name, MaxKinds)) }

// AddClass does so for a class.
func AddClass(name string) Class { return Class(add(&Classes, name, MaxClasses)) }

// add returns the number of a name, which is appended where it is new, or -1 where there
// are limit names already. Readers of the list that was there before stay right.
func add(list *[]string, name string, limit int) int32 {
	adding.Lock()
	defer adding.Unlock()
	if c := slices.Index(*list, name); c >= 0 {
		return int32(c)
	}
	if len(*list) >= limit {
		return -1
	}
	*list = append((*list)[:len(*list):len(*list)], name)
	return int32(len(*list) - 1)
}

// The numbers of kinds and classes that are ours.
var (
	ownKinds   = len(Kinds)
	ownClasses = len(Classes)
)

// UnknownValues are the kinds and classes that nobody here knows.
type UnknownValues struct {
	Kinds   []string `json:"kinds,omitempty"`   // names, in the order of their codes
	Classes []string `json:"classes,omitempty"` // likewise
}

// AddedValues returns those that were added so far, nil for none.
func AddedValues() *UnknownValues {
	adding.Lock()
	defer adding.Unlock()
	if len(Kinds) == ownKinds && len(Classes) == ownClasses {
		return nil
	}
	return &UnknownValues{Kinds[ownKinds:], Classes[ownClasses:]}
}

// add gives them codes.
func (v *UnknownValues) add() {
	for _, name := range v.Kinds {
		AddKind(name)
	}
	for _, name := range v.Classes {
		AddClass(name)
	}
}
