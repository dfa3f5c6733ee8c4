package cli

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// Progress shows the progress of a long read if standard error is a terminal. It may be
// used concurrently.
type Progress struct {
	c     *Call
	show  bool
	mu    sync.Mutex
	begun time.Time
	last  time.Time
	shown bool
}

// patience is how long a read takes before its progress is shown.
const patience = time.Second

// Progress begins to show progress.
func (c *Call) Progress() *Progress {
	now := time.Now()
	return &Progress{c: c, show: IsTerminal(c.Stderr), begun: now, last: now}
}

// Rows shows the number of rows read of a file.
func (p *Progress) Rows(path string, rows int64) {
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
	fmt.Fprintf(p.c.Stderr, "\r\x1b[K%s: reading %s, %.1f M rows", p.c.Name, filepath.Base(path), float64(rows)/1e6)
}

// Done removes the progress line.
func (p *Progress) Done() {
	if p.shown {
		fmt.Fprint(p.c.Stderr, "\r\x1b[K")
	}
}
