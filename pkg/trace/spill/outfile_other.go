//go:build !linux

package spill

// unnamed returns nil: only Linux has files without a name.
func unnamed(string, string) (*File, error) { return nil, nil }
