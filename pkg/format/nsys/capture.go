package nsys

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// problem returns the error of an export that cannot be read, with advice.
func problem(path, what, advice string) error {
	return &event.Error{Msg: path + ": " + what, Advice: advice}
}

// explain adds the file's name and advice to an error that has none.
func (c *capture) explain(err error) error {
	if hinted, ok := err.(interface{ Hint() string }); ok && hinted.Hint() != "" {
		return err
	}
	if file := (*spill.FileError)(nil); errors.As(err, &file) {
		return problem(c.path, "does not fit into memory, and "+err.Error(), "set TMPDIR to a folder with more room, or give more memory with --memory")
	}
	return problem(c.path, strings.TrimPrefix(err.Error(), c.path+": "), "repeat 'nsys export', with --tables for those that are needed")
}

// readInfo reads what the export says about itself. It takes only single values, by
// name, from the capture's metadata: the rest is the environment, command line, user
// and host of whoever made the capture, and must not be copied.
func (c *capture) readInfo(s scanner, columns map[string][]string) error {
	c.info.File, c.info.Source = filepath.Base(c.path), "nsys"
	if c.info.Throttled = throttled(c.path); c.info.Throttled != nil && c.info.Throttled.Stopped > 0 {
		c.warn("a CPU quota stopped the processes in %d of %d periods while this was recorded, by the kernel's count (nr_throttled): raise the CPU limit of the container", c.info.Throttled.Stopped, c.info.Throttled.Periods)
	}
	normalised, shift := false, int64(0)
	for _, table := range []string{oldExportTable, exportTable} {
		err := eachPair(s, columns, table, func(name, value string) {
			switch name {
			case "EXPORT_PRODUCT_VERSION":
				c.info.Version = version(value)
			case "EXPORT_SCHEMA_VERSION":
				c.info.Schema = version(value)
			case "EXPORT_PARAM_TIME_NORMALIZE":
				normalised = strings.EqualFold(value, "true") || value == "1"
			case "EXPORT_PARAM_TIME_SHIFT":
				shift, _ = strconv.ParseInt(value, 10, 64)
			}
		})
		if err != nil {
			return err
		}
	}
	err := eachPair(s, columns, captureTable, func(name, value string) {
		if mode := strings.ToLower(value); strings.HasSuffix(name, "CUDA_GRAPH_TRACE_OPTIONS:MODE") && (mode == "graph" || mode == "node") {
			c.info.Capture = mode
		}
	})
	if err != nil {
		return err
	}
	if err := c.readOrigin(s, columns, normalised, shift); err != nil {
		return err
	}
	if err := c.readGPUs(s, columns); err != nil {
		return err
	}
	if slices.Contains(c.host, event.Run) {
		if err := c.readTopology(s, columns); err != nil {
			return err
		}
	}
	return c.readDiagnostics(s, columns)
}

// readOrigin finds the UTC time of the report's time 0. A normalised export counts from
// 1970. A shifted export, normalised or not, says by how much its times were moved.
func (c *capture) readOrigin(s scanner, columns map[string][]string, normalised bool, shift int64) error {
	if shift < -maxTime || shift > maxTime {
		return nil
	}
	if normalised {
		c.origin, c.clocked = -shift, true
		return nil
	}
	return scanAll(s, columns, sessionTable, ints("utcEpochNs"), func(b *block) error {
		times := b.column("utcEpochNs")
		for i := range b.n {
			utc := times.Int[i]
			if !c.clocked && !times.Null[i] && utc > 0 && utc < maxTime {
				c.origin, c.clocked = utc-shift, true
				c.info.Origin = c.origin
			}
		}
		return nil
	})
}

// eachPair calls fn for each row of a table of names and values.
func eachPair(s scanner, columns map[string][]string, table string, fn func(name, value string)) error {
	return scanAll(s, columns, table, textColumns("name", "value"), func(b *block) error {
		names, values := b.column("name"), b.column("value")
		for i := range b.n {
			fn(string(names.Text(i)), string(values.Text(i)))
		}
		return nil
	})
}

// version returns s if it looks like a version number, else "", so that nothing else
// that stands in its place gets into an output.
func version(s string) string {
	if len(s) > 32 || strings.Trim(s, "0123456789.-") != "" {
		return ""
	}
	return s
}
