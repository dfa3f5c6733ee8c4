package gap

import "github.com/hostbound/hostbound/pkg/idle"

// flag is what a name says about itself.
type flag uint8

const (
	viewOp    flag = 1 << iota // a tensor operation that moves no data
	blocking                   // a copy or fill that blocks the calling thread
	objects                    // makes or drops memory or code, which a steady step should not
	marksStep                  // a forward-step marker
	loads                      // loads code, or makes it
)

// names are names of idle's with what they say.
type names struct {
	*idle.Names
	flags []flag // by number
}

// of returns what a name says.
func (n *names) of(id int32) flag {
	for int(id) >= len(n.flags) {
		n.flags = append(n.flags, flagsOf(n.Text(int32(len(n.flags)))))
	}
	return n.flags[id]
}

// set adds what is known of a name besides.
func (n *names) set(id int32, f flag) {
	n.of(id)
	n.flags[id] |= f
}

// text returns the text of a number, "" for -1.
func (n *names) text(id int32) string { return n.Text(id) }
