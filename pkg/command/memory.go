package command

import (
	"errors"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
)

// memoryFlag bounds what reading exports takes.
var memoryFlag = cli.Flag{
	Name: "memory", Default: "512M", Check: checkMemory, Group: choosingRows,
	Usage: "read exports with about `SIZE` of memory, such as 64M or 2G; rows beyond it go to a temporary file in TMPDIR. Without the flag GOMEMLIMIT holds, where it is set",
}

// leastMemory is what a command needs for itself.
const leastMemory = 64 << 20

func checkMemory(text string) error {
	if _, ok := parseSize(text); !ok {
		return errors.New("a size is a number of bytes with K, M, G or T, such as 512M, and not below 64M")
	}
	return nil
}

// parseSize returns the number of bytes that a text such as 2G or 512MiB states.
func parseSize(text string) (n int64, ok bool) {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	shift := 0
	if i := strings.IndexAny(number, "KMGT"); i >= 0 && i == len(number)-1 {
		shift = 10 * (1 + strings.IndexByte("KMGT", number[i]))
		number = number[:i]
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64>>shift || n<<shift < leastMemory {
		return 0, false
	}
	return n << shift, true
}

// memory returns how many bytes reading exports may take, and tells the garbage
// collector: a quarter is rows, which it does not know of (package nsys), a
// little is the program itself.
func (c *Context) memory() int64 {
	limited := os.Getenv("GOMEMLIMIT") != ""
	size, _ := parseSize(c.String("memory"))
	if limit := debug.SetMemoryLimit(-1); limited && !c.IsSet("memory") && limit < math.MaxInt64 {
		return max(limit, leastMemory)
	}
	if !limited {
		debug.SetMemoryLimit(size - size/4 - 24<<20)
	}
	return size
}
