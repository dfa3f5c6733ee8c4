package spill

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// mostLinks bounds the length of a chain of links.
const mostLinks = 40

// follow follows symbolic links from a name, until stop returns true or there is no
// further link. The file itself need not exist.
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

// Descriptor returns the number of the open file that a name such as /dev/stdout or
// /dev/fd/3 refers to, -1 for any other name. Such a file must not be replaced: a shell
// may have opened it for appending.
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
