package hotspot

import (
	"slices"
	"strings"
)

// container is the finding for containers without a call or a look-up, nothing where others show it.
func (b *body) container(i int) []finding {
	s := &b.stmts[i]
	us := s.usPerHit()
	if s.isLoop() || us > cheapUs {
		return nil
	}
	f := finding{kind: Container, confidence: "medium"}
	switch {
	case slices.Contains(s.Operators, "in"):
		f.evidence, f.anyway = "looks for a member", us > 1
	case longChain(s):
		f.evidence, f.anyway = "follows a chain of attributes", us > 1 || slices.ContainsFunc(s.Attributes, func(p string) bool { return strings.Count(p, ".") >= 4 })
	case s.Formatted && len(s.Targets) > 0:
		f.evidence, f.confidence = "formats a string each time", "low"
	default:
		return nil
	}
	return []finding{f}
}

// ofTensors is whether a call is one of PyTorch by its name.
func (c *Call) ofTensors() bool {
	root, _ := splitRoot(c.Path)
	return onList("torch_modules", root) || onList("strong_ops", c.Name()) || onList("weak_ops", c.Name())
}
