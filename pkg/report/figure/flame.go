package figure

import (
	"cmp"
	"slices"
	"strings"
)

// Flame shows the parts of a whole, and their parts in turn, from the top down.
type Flame struct {
	Root Node // the whole, in us
}

// Node is a part with its own parts.
type Node struct {
	Name  string  // hostile
	Value float64 // 0 or more
	Color Color   // of its mark
	Parts []Node  // their sum is at most Value
}

// Part returns the part with a name, adding it if it is missing. The pointer is valid
// until another part is added.
func (n *Node) Part(name string) *Node {
	for i := range n.Parts {
		if n.Parts[i].Name == name {
			return &n.Parts[i]
		}
	}
	n.Parts = append(n.Parts, Node{Name: name})
	return &n.Parts[len(n.Parts)-1]
}

// Limits of drawing a flame graph. What is narrower cannot be seen; the table has it.
const (
	minNode   = 0.001 // share of the width of the narrowest node drawn
	maxNodes  = 1500
	maxDepth  = 24
	nodeRoom  = 22 // pixels from one row to the next
	namedFrom = 0.02
)

// depth returns how many rows are drawn for a part of a whole.
func (n *Node) depth(whole float64) int {
	if !(n.Value >= minNode*whole) {
		return 0
	}
	most := 0
	for i := range n.Parts {
		most = max(most, n.Parts[i].depth(whole))
	}
	return most + 1
}

func (p *Flame) class() string    { return "wide flame" }
func (p *Flame) legend() []Series { return nil }

func (p *Flame) height() float64 {
	return nodeRoom * float64(min(p.Root.depth(p.Root.Value), maxDepth))
}

func (p *Flame) draw(c *canvas) {
	c.Open("svg", "class", "zoom", "x", "0", "y", "0", "width", "100%", "height", "100%")
	p.node(c, &p.Root, nil, 0, 0, new(maxNodes))
	c.Close()
}

// node draws a part at x, and its own parts below it.
func (p *Flame) node(c *canvas, n *Node, path []string, x float64, depth int, left *int) {
	width := n.Value / p.Root.Value
	if !(width >= minNode) || depth >= maxDepth || *left == 0 {
		return
	}
	*left--
	path = append(path, short(n.Name, 80))
	c.Open("svg", "class", "node", "x", Share(x), "y", Num(nodeRoom*float64(depth)), "width", Share(width), "height", Num(nodeRoom-1))
	c.Leaf("title", strings.Join(path[max(0, len(path)-3):], " > ")+": "+Micros.Show(n.Value)+", "+Ratio.Show(width))
	c.Empty("rect", "class", n.Color.class()+" pale", "width", "100%", "height", "100%")
	if width >= namedFrom {
		c.Leaf("text", short(n.Name, 80), "x", "4", "y", "15")
	}
	c.Close()
	parts := slices.SortedStableFunc(slices.Values(n.Parts), func(a, b Node) int { return cmp.Compare(b.Value, a.Value) })
	for i := range parts {
		p.node(c, &parts[i], path, x, depth+1, left)
		x += parts[i].Value / p.Root.Value
	}
}
