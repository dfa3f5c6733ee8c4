//go:build !linux

package spill

// unnamed begins a file without a name, which this system does not have.
func unnamed(string, string) (*File, error) { return nil, nil }
