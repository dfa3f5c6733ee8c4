package main

import (
	"fmt"
	"math"
)

// count is how often something happened, n of of times.
type count struct{ n, of int }

func (c *count) add(happened bool) {
	c.of++
	if happened {
		c.n++
	}
}

func (c *count) sum(d count) { c.n, c.of = c.n+d.n, c.of+d.of }

// interval returns Wilson's 95 % interval of the share.
func (c count) interval() (low, high float64) {
	if c.of == 0 {
		return 0, 1
	}
	const z = 1.959964
	n, p := float64(c.of), float64(c.n)/float64(c.of)
	center := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, center-half), min(1, center+half)
}

// String returns the share with its interval, "-" if nothing was counted.
func (c count) String() string {
	if c.of == 0 {
		return "-"
	}
	low, high := c.interval()
	return fmt.Sprintf("%.1f %% (%.1f–%.1f)", 100*float64(c.n)/float64(c.of), 100*low, 100*high)
}

// plain returns the number as text, "" for 0.
func (c count) plain() string {
	if c.n == 0 {
		return ""
	}
	return fmt.Sprint(c.n)
}
