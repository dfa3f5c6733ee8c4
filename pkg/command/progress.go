package command

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// progress shows how far a long read has come, where standard error is a
// terminal.
type progress struct {
	c     *Context
	show  bool
	mu    sync.Mutex
	begun time.Time
	last  time.Time
	shown bool
}

// patience is how long a read takes before there is something to show.
const patience = time.Second

func newProgress(c *Context) *progress {
	now := time.Now()
	return &progress{c: c, show: isTerminal(c.Stderr), begun: now, last: now}
}

// rows shows the number of rows read of a file.
func (p *progress) rows(path string, rows int64) {
	if !p.show {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.begun) < patience || now.Sub(p.last) < patience/5 {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.c.Stderr, "\r\x1b[K%s: reading %s, %.1f M rows", p.c.name, filepath.Base(path), float64(rows)/1e6)
}

// done takes the line away.
func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.c.Stderr, "\r\x1b[K")
	}
}
