package event

import (
	"slices"
	"sync"
)

// Unknown values of kind and class get codes after the known ones while they are read,
// and are passed on by name; analyses ignore them. A reader adds them when it opens its
// input, before anything else uses the lists.

// MaxKinds and MaxClasses bound the codes, because sets of codes are bits of an
// integer.
const (
	MaxKinds   = 32
	MaxClasses = 64
)

var adding sync.Mutex

// AddKind returns the code of a kind, a new one if it has none yet, or -1 if there are
// too many kinds.
func AddKind(name string) Kind { return Kind(add(&Kinds, name, MaxKinds)) }

// AddClass is AddKind for a class.
func AddClass(name string) Class { return Class(add(&Classes, name, MaxClasses)) }

// add returns the index of a name and appends the name if it is new, or returns -1 if
// the list has limit names. Slices read before stay valid.
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

// The numbers of kinds and classes that this program knows.
var (
	ownKinds   = len(Kinds)
	ownClasses = len(Classes)
)

// UnknownValues are the kinds and classes that this program does not know.
type UnknownValues struct {
	Kinds   []string `json:"kinds,omitempty"`   // in the order of their codes
	Classes []string `json:"classes,omitempty"` // likewise
}

// AddedValues returns the values that were added so far, nil if there are none.
func AddedValues() *UnknownValues {
	adding.Lock()
	defer adding.Unlock()
	if len(Kinds) == ownKinds && len(Classes) == ownClasses {
		return nil
	}
	return &UnknownValues{Kinds[ownKinds:], Classes[ownClasses:]}
}

// add gives the values codes.
func (v *UnknownValues) add() {
	for _, name := range v.Kinds {
		AddKind(name)
	}
	for _, name := range v.Classes {
		AddClass(name)
	}
}
