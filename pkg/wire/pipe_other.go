//go:build !linux

package wire

func widenPipe(any) {}
