package gap

import "bytes"

// maxNames is how many different names are told apart.
const maxNames = 1 << 16

// flag is what a name says about itself.
type flag uint8

const (
	waitsGIL flag = 1 << iota
	holdsGIL
	viewOp    // a tensor operation that moves no data
	blocking  // a copy or fill that blocks the calling thread
	objects   // makes or drops memory or code, which a steady step should not
	marksStep // a forward-step marker
)

// name is a text and what it says.
type name struct {
	text  string
	flags flag
}

// names numbers texts.
type names struct {
	fold  bool // each run of digits counts as one #
	ids   map[string]int32
	list  []name
	cache [512]cached
	buf   []byte
}

// cached is a text as it came and its number.
type cached struct {
	text []byte
	id   int32
}

func newNames(fold bool) *names {
	return &names{fold: fold, ids: make(map[string]int32)}
}

// id returns the number of a text.
func (n *names) id(text []byte) int32 {
	c := &n.cache[hash(text)%uint32(len(n.cache))]
	if c.text != nil && bytes.Equal(c.text, text) { // Fast path: names repeat.
		return c.id
	}
	c.id = n.find(text)
	c.text = append(c.text[:0], text...)
	if c.text == nil {
		c.text = []byte{}
	}
	return c.id
}

// hash looks at the length and twelve bytes of a text.
func hash(text []byte) uint32 {
	h := uint32(len(text)) * 0x9e3779b1
	if len(text) < 4 {
		for _, b := range text {
			h = h*31 + uint32(b)
		}
		return h ^ h>>15
	}
	four := func(i int) uint32 {
		b := text[i : i+4 : i+4]
		return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	}
	h = (h ^ four(0)) * 0x85ebca6b
	h = (h ^ h>>13 ^ four(len(text)/2-2)) * 0xc2b2ae35
	h = (h ^ h>>16 ^ four(len(text)-4)) * 0x9e3779b1
	return h ^ h>>15
}

// find looks a text up. Beyond maxNames all new ones are one.
func (n *names) find(text []byte) int32 {
	key := text
	if n.fold {
		n.buf = appendFolded(n.buf[:0], text)
		key = n.buf
	}
	if id, ok := n.ids[string(key)]; ok {
		return id
	}
	if len(n.list) >= maxNames {
		key = []byte("(other)")
		if id, ok := n.ids[string(key)]; ok {
			return id
		}
	}
	id := int32(len(n.list))
	s := string(key)
	n.ids[s] = id
	n.list = append(n.list, name{s, flagsOf(s)})
	return id
}

// text returns the text of a number, "" for -1.
func (n *names) text(id int32) string {
	if id < 0 {
		return ""
	}
	return n.list[id].text
}

// appendFolded appends a text in which each run of digits is one #.
func appendFolded(buf, text []byte) []byte {
	digits := false
	for _, b := range text {
		if '0' <= b && b <= '9' {
			if !digits {
				buf = append(buf, '#')
			}
			digits = true
			continue
		}
		digits = false
		buf = append(buf, b)
	}
	return buf
}
