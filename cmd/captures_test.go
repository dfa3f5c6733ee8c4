package cmd

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// A real capture of a program that is known to sleep, wait for a lock, run and so
// on, with kernels added between: gaps must say of each stretch of idle time what
// the program says it did. HOSTBOUND_NSYS names an nsys program.
func TestRealCapture(t *testing.T) {
	nsys := os.Getenv("HOSTBOUND_NSYS")
	if nsys == "" {
		t.Skip("HOSTBOUND_NSYS names no nsys")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "hostbound_capture")
	if out, err := exec.Command("cc", "-O1", "-pthread", "-o", program, "testdata/captures/host.c").CombinedOutput(); err != nil {
		t.Skipf("cc: %v\n%s", err, out)
	}
	did := record(t, nsys, program, dir)
	export := filepath.Join(dir, "capture.sqlite")
	sameConverted(t, nsys, filepath.Join(dir, "capture.nsys-rep"), export)
	addKernels(t, export, did)
	readFlames(t, export)
	for why, want := range expectedWhy(did) {
		if got := whys(t, export)[why]; got < want.low || got > want.high {
			t.Errorf("%s: %.1f ms of idle time, and the program did it for %.1f to %.1f ms", why, got, want.low, want.high)
		}
	}
}

// stretch is what the program did from start to end, in ns of the session, and for how many
// of them it was on a CPU.
type stretch struct {
	name       string
	start, end int64
	ran        int64
}

func (s stretch) ms() float64 { return float64(s.end-s.start) / 1e6 }

// record runs the program under nsys, by the script that users run. An nsys now
// and then does not end after its program has: then it is ended, and tried again.
// Its agent may go on even where it has.
func record(t *testing.T, nsys, program, dir string) (did []stretch) {
	t.Helper()
	endAgent := func() {
		exec.Command("pkill", "-f", "start-agent.*profile-"+filepath.Base(program)).Run() // an error: there is none
	}
	t.Cleanup(endAgent)
	var text []byte
	for range 5 {
		// Its agent keeps standard output open: into a file, not a pipe.
		log, err := os.Create(filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("timeout", "20", "bash", filepath.Join(root, "scripts", "capture.sh"),
			"--run", "--for", "causes", "--nsys", nsys, "-o", filepath.Join(dir, "capture"), "--", program)
		c.Stdout, c.Stderr = log, log
		err = c.Run()
		log.Close()
		text, _ = os.ReadFile(log.Name())
		if err == nil {
			return parse(t, text)
		}
		t.Logf("%v", err)
		endAgent()
	}
	t.Skipf("this nsys did not end:\n%s", text)
	return nil
}

// parse reads what the program printed.
func parse(t *testing.T, text []byte) (did []stretch) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) != 4 {
			continue
		}
		start, err := strconv.ParseInt(f[1], 10, 64)
		end, err2 := strconv.ParseInt(f[2], 10, 64)
		ran, err3 := strconv.ParseInt(f[3], 10, 64)
		if err == nil && err2 == nil && err3 == nil {
			did = append(did, stretch{f[0], start, end, ran})
		}
	}
	if len(did) != 12 {
		t.Fatalf("the program did %d things\n%s", len(did), text)
	}
	return did
}

// addKernels adds a kernel before, between and after the stretches of did, each
// launched by the program's main thread just before it starts, and turns did into
// times of the session.
func addKernels(t *testing.T, export string, did []stretch) {
	t.Helper()
	db, err := sql.Open("sqlite", export)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	query := func(to any, q string, args ...any) {
		t.Helper()
		if err := db.QueryRow(q, args...).Scan(to); err != nil {
			t.Fatal(q, ": ", err)
		}
	}
	var epoch, thread, name int64
	query(&epoch, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")
	for i := range did {
		did[i].start -= epoch
		did[i].end -= epoch
	}
	query(&thread, `SELECT globalTid FROM OSRT_API JOIN StringIds ON id = nameId WHERE value = 'poll' AND start BETWEEN ? AND ?`,
		did[0].start, did[len(did)-1].end)
	query(&name, "SELECT max(id) + 1 FROM StringIds")
	exec := func(q string, args ...any) {
		t.Helper()
		if _, err := db.Exec(q, args...); err != nil {
			t.Fatal(q, ": ", err)
		}
	}
	exec("INSERT INTO StringIds VALUES (?, 'cudaLaunchKernel_v7000'), (?, 'kernel')", name, name+1)
	exec("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL)")
	exec("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL)")
	const call, launch = 2000, 3000 // ns: how long a launch call takes, and how long before the kernel it begins
	kernel := func(n int, start, end int64) {
		exec("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 1, ?, ?, ?, 0)", start-launch, start-launch+call, thread, n, name)
		exec("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, ?)", start, end, n, thread&^0xffffff, name+1, name+1)
	}
	kernel(1, did[0].start-100_000, did[0].start)
	for i, s := range did {
		next := s.end + 100_000
		if i+1 < len(did) {
			next = did[i+1].start
		}
		kernel(2+i, s.end+launch, next)
	}
}

// bounds are in ms.
type bounds struct{ low, high float64 }

// expectedWhy is how long the idle time of each kind must and can be: what the
// program asked for, and what passed until it went on, which on a busy machine is
// more.
func expectedWhy(did []stretch) map[string]bounds {
	took, ran, all := map[string]float64{}, map[string]float64{}, 0.0
	for _, s := range did {
		took[s.name], ran[s.name] = s.ms(), float64(s.ran)/1e6
		all += ran[s.name]
	}
	lost := took["neighbour"] - ran["neighbour"] + took["running"] - ran["running"]
	const slack = 1 // ms: begin is not at once
	return map[string]bounds{
		"blocked:sleep": {300 + 50 - slack, took["sleep"] + took["naps"]},
		"blocked:lock":  {took["lock"] * 0.8, took["lock"]},
		"blocked:wait":  {200 * 0.8, took["wait"]},
		"blocked:file":  {220 * 0.8, took["pipe"] + took["files"]},
		"blocked:io":    {180 + 130*0.8 - slack, took["poll"] + took["requests"]},
		"blocked:join":  {(150 + 140) * 0.8, took["join"] + took["child"]},
		"descheduled":   {lost * 0.97, lost + took["files"] + took["naps"] + 100},
		"running":       {(ran["running"] + ran["neighbour"]) * 0.97, all*1.03 + slack},
	}
}

// whys returns the idle time by what the host did, in ms.
func whys(t *testing.T, export string) map[string]float64 {
	t.Helper()
	out, err := exec.Command("gaps", "--by", "none", "--format", "json", export).Output()
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Idle struct {
			TotalUs float64 `json:"total_us"`
			Causes  []struct {
				Cause string
				Why   []struct {
					Why string
					Us  float64
				}
			}
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	ms := map[string]float64{}
	for _, c := range report.Idle.Causes {
		for _, w := range c.Why {
			ms[w.Why] += w.Us / 1e3
		}
	}
	return ms
}
