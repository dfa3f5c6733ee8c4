package nsys

import "regexp"

// threadTable names threads. A user's name for one may be a command line with secrets
// in it. Names only serve to leave threads out, and go no further.
const threadTable = "ThreadNames"

// ownThread matches the names of the profiler's own threads, which Linux cuts to 15
// bytes.
var ownThread = regexp.MustCompile(`^(\[NSys|\*\d[A-Z]|CUPTI worker t)`)

// readOwnThreads finds the profiler's own threads.
func (c *capture) readOwnThreads(s scanner, columns map[string][]string) error {
	return scanAll(s, columns, threadTable, ints("nameId", "globalTid"), func(b *block) error {
		names, ids := b.column("nameId"), b.column("globalTid")
		for i := range b.n {
			if ids.Null[i] || names.Null[i] || !ownThread.MatchString(c.strings.str(c.strings.find(names.Int[i]))) {
				continue
			}
			if c.own == nil {
				c.own = map[thread]bool{}
			}
			c.own[newThread(ids.Int[i])] = true
		}
		return nil
	})
}

// isOwn reports whether a thread is the profiler's own, by its number.
func (c *census) isOwn(number int64) bool {
	if len(c.own) == 0 { // Fast path: the export names no such thread.
		return false
	}
	t := c.threads[number]
	return c.own[thread{process: t.process, tid: t.tid, slot: noSlot}]
}
