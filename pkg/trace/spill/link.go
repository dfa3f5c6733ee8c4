package spill

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// mostLinks is how many links are followed one after the other.
const mostLinks = 40

// follow follows links to the file that a name is of, which need not be there, until stop.
func follow(path string, stop func(path string) bool) string {
	for range mostLinks {
		link, err := os.Readlink(path)
		if err != nil || stop(path) {
			return path
		}
		if !filepath.IsAbs(link) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return path
			}
			link = filepath.Join(dir, link)
		}
		path = link
	}
	return path
}

// Descriptor is the number of the open file that a name such as /dev/stdout or /dev/fd/3
// is of, -1 of any other. What such a file holds is not to be replaced: a shell may have
// opened it to append to it.
func Descriptor(path string) int {
	fd := -1
	follow(path, func(path string) bool {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		own := dir == "/dev/fd" || dir == fmt.Sprintf("/proc/%d/fd", os.Getpid())
		if n, wrong := strconv.Atoi(filepath.Base(path)); err == nil && wrong == nil && own {
			fd = n
		}
		return fd >= 0
	})
	return fd
}
