package command

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
)

// memoryFlag limits the memory of a command.
var memoryFlag = cli.Flag{
	Name: "memory", Default: "512M", Check: checkMemory, Group: choosingRows,
	Usage: "use about `SIZE` of memory, such as 256M or 1.5G, at least 64M; rows that do not fit go to a temporary file in TMPDIR. The process itself needs 20M to 40M, so it may exceed a SIZE below 128M. Without the flag, GOMEMLIMIT applies if it is set",
}

// leastMemory is the least value of --memory, in bytes.
const leastMemory = 64 << 20

// checkMemory refuses sizes that parseSize does not accept.
func checkMemory(text string) error {
	if _, ok := parseSize(text); !ok {
		return cli.Misuse("--memory "+text+" is not a size of at least 64M", "give a number of bytes with K, M, G or T, such as 512M or 1.5G")
	}
	return nil
}

// parseSize parses a size such as 2G, 1.5G or 512MiB into bytes. ok is false if it is
// invalid or below leastMemory.
func parseSize(text string) (n int64, ok bool) {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	unit := 1.0
	if i := strings.IndexAny(number, "KMGT"); i >= 0 && i == len(number)-1 {
		unit = float64(int64(1) << (10 * (1 + strings.IndexByte("KMGT", number[i]))))
		number = number[:i]
	}
	if strings.Trim(number, "0123456789.") != "" { // no exponents, signs or names
		return 0, false
	}
	size, err := strconv.ParseFloat(number, 64)
	if size *= unit; err != nil || size < leastMemory || size >= math.MaxInt64 {
		return 0, false
	}
	return int64(size), true
}

// memory is how much memory a command may use, and how it is divided.
type memory struct {
	budget  int64 // bytes for the process
	fixed   bool  // set by the environment: the garbage collector keeps to it
	keeps   int64 // part of the budget for what the analysis keeps
	reports bool  // reports were opened: their rows take memory until the command ends
}

// newMemory returns the budget set by flags or the environment.
func newMemory(c *cli.Call) *memory {
	m := &memory{fixed: os.Getenv("GOMEMLIMIT") != ""}
	m.budget, _ = parseSize(c.String("memory"))
	if limit := debug.SetMemoryLimit(-1); m.fixed && !c.IsSet("memory") && limit < math.MaxInt64 {
		m.budget = max(limit, leastMemory)
	}
	return m
}

// ofReports returns how many bytes reading reports may take.
func (m *memory) ofReports() int64 {
	m.limit(m.budget / 4)
	return m.budget
}

// limit sets the garbage collector's share of the budget. It excludes rows, which are
// outside the Go heap, what an analysis keeps (plus half of that for reading it), and
// the small size of the program itself. A minimum remains.
func (m *memory) limit(rows int64) {
	if !m.fixed {
		others := max(rows+m.keeps*3/2+32<<20, m.budget/5)
		cli.LimitMemory(max(m.budget-others, 24<<20))
	}
}

// keep reserves a 32nd of the budget for what is kept of runs, and returns the bytes
// for each run.
func (m *memory) keep(runs int) int64 {
	m.keeps = m.budget / 32
	return m.keeps / int64(max(runs, 1))
}
