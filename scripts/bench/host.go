package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/hostbound/hostbound/pkg/testkit/sqlitefile"
)

// hostRows is the number of rows about host threads that a trace gets.
type hostRows struct{ calls, switches, samples int }

// hostTables adds the tables of these rows to the attached database. Threads take turns,
// two per process, over the span of the trace.
const hostTables = `
INSERT INTO trace.StringIds (value) VALUES ('pthread_mutex_lock'), ('read'), ('poll'), ('ioctl'), ('/usr/lib/libpython3.so'), ('PyEval_EvalFrame'), ('forward'), ('schedule');
CREATE TEMP TABLE names AS SELECT value, id FROM trace.StringIds WHERE value IN ('pthread_mutex_lock', 'read', 'poll', 'ioctl');
CREATE TEMP TABLE threads AS SELECT row_number() OVER () - 1 AS k, t FROM
	(SELECT DISTINCT globalTid AS t FROM trace.CUPTI_ACTIVITY_KIND_RUNTIME UNION SELECT DISTINCT globalTid + 7 FROM trace.CUPTI_ACTIVITY_KIND_RUNTIME);
CREATE UNIQUE INDEX temp.byThread ON threads (k);
CREATE TEMP TABLE span AS SELECT min(start) AS low, max("end") - min(start) AS ns, (SELECT count(*) FROM threads) AS n FROM trace.CUPTI_ACTIVITY_KIND_KERNEL;
CREATE TABLE trace.OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER);
WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i + 1 < %[1]d)
	INSERT INTO trace.OSRT_API SELECT low + ns / %[1]d * i, low + ns / %[1]d * i + i * 104729 %% 50021, 27, (SELECT t FROM threads WHERE k = i %% n),
	(SELECT id FROM names WHERE names.rowid = 1 + i / n %% 4) FROM r, span WHERE %[1]d > 0;
CREATE TABLE trace.SCHED_EVENTS (start INTEGER, cpu INTEGER, isSchedIn INTEGER, globalTid INTEGER);
WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i + 1 < %[2]d)
	INSERT INTO trace.SCHED_EVENTS SELECT low + ns / %[2]d * i, i / n / 2 %% 16, i / n %% 2, (SELECT t FROM threads WHERE k = i %% n) FROM r, span WHERE %[2]d > 0;
CREATE TABLE trace.COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start INTEGER, globalTid INTEGER);
WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i + 1 < %[3]d)
	INSERT INTO trace.COMPOSITE_EVENTS SELECT i + 1, low + ns / %[3]d * i, (SELECT t FROM threads WHERE k = i %% n) FROM r, span WHERE %[3]d > 0;
CREATE TABLE trace.SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER, stackDepth INTEGER);
WITH RECURSIVE d(depth) AS (SELECT 0 UNION ALL SELECT depth + 1 FROM d WHERE depth < 19)
	INSERT INTO trace.SAMPLING_CALLCHAINS SELECT id, (SELECT max(id) FROM trace.StringIds) - (c.id * depth) %% 3, (SELECT max(id) - 3 FROM trace.StringIds), 0, depth
	FROM trace.COMPOSITE_EVENTS c, d ORDER BY c.id, depth;`

// add adds the rows to a trace.
func (h hostRows) add(trace string) error {
	scratch := trace + ".scratch"
	w, err := sqlitefile.Create(scratch)
	if err != nil {
		return err
	}
	defer os.Remove(scratch)
	sql := fmt.Sprintf("COMMIT; ATTACH '%[4]s' AS trace; PRAGMA trace.journal_mode = OFF; BEGIN;"+hostTables+"COMMIT; DETACH trace; BEGIN;", h.calls, h.switches, h.samples, trace)
	return errors.Join(w.Exec(sql), w.Close())
}
