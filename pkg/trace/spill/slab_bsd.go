//go:build unix && !linux

package spill

func hugePages([]byte) {}
