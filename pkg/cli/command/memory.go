package command

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
)

// memoryFlag bounds what a command takes.
var memoryFlag = cli.Flag{
	Name: "memory", Default: "512M", Check: checkMemory, Group: choosingRows,
	Usage: "use about `SIZE` of memory, such as 256M or 1.5G, at least 64M; rows that do not fit go to a temporary file in TMPDIR. The process itself needs 20M to 40M, so it may exceed a SIZE below 128M. Without the flag GOMEMLIMIT applies, if set",
}

// leastMemory is what a command needs for itself.
const leastMemory = 64 << 20

// checkMemory refuses sizes that parseSize does not take.
func checkMemory(text string) error {
	if _, ok := parseSize(text); !ok {
		return cli.Misuse("--memory "+text+" is not a size", "a size is a number of bytes with K, M, G or T, such as 512M or 1.5G, and not below 64M")
	}
	return nil
}

// parseSize returns the number of bytes that a text such as 2G, 1.5G or 512MiB states.
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

// budget returns how many bytes the process may take.
func (c *Context) budget() int64 {
	if limit := debug.SetMemoryLimit(-1); os.Getenv("GOMEMLIMIT") != "" && !c.IsSet("memory") && limit < math.MaxInt64 {
		return max(limit, leastMemory)
	}
	size, _ := parseSize(c.String("memory"))
	return size
}

// memory returns how many bytes reading exports may take, and tells the garbage
// collector: a quarter is rows, which it does not know of (package nsys).
func (c *Context) memory() int64 {
	size := c.budget()
	c.limit(size, size/4)
	return size
}

// limit tells the garbage collector what it has of a budget: not the rows, which it does
// not know of, nor what an analysis keeps (with half as much for reading it), nor the
// little that is the program itself, and never all of it.
func (c *Context) limit(size, rows int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		others := max(rows+c.keeps*3/2+32<<20, size/5)
		cli.LimitMemory(max(size-others, 24<<20))
	}
}

// keep sets a 32nd of the budget aside for what is kept of runs, and returns how much
// that is for each.
func (c *Context) keep(runs int) int64 {
	c.keeps = c.budget() / 32
	return c.keeps / int64(max(runs, 1))
}
