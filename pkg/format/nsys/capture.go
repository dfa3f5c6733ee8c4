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

// problem is an export that cannot be read, with what to do about it.
func problem(path, what, advice string) error {
	return &event.Error{Msg: path + ": " + what, Advice: advice}
}

// explain names the file in an error that does not, and says what to do.
func (r *report) explain(err error) error {
	if hinted, ok := err.(interface{ Hint() string }); ok && hinted.Hint() != "" {
		return err
	}
	if file := (*spill.FileError)(nil); errors.As(err, &file) {
		return problem(r.path, "does not fit into memory, and "+err.Error(), "set TMPDIR to a folder with more room, or give more memory with --memory")
	}
	return problem(r.path, strings.TrimPrefix(err.Error(), r.path+": "), "repeat 'nsys export', with --tables for those that are needed")
}

// readInfo reads what the export says of itself. It takes single values out of
// the capture's metadata by name: the rest holds the environment, command line,
// user and host of whoever made the capture, and stays where it is.
func (r *report) readInfo(s scanner, columns map[string][]string) error {
	r.info.File, r.info.Source = filepath.Base(r.path), "nsys"
	r.info.Throttled = throttled(r.path)
	normalised, shift := false, int64(0)
	for _, table := range []string{oldExportTable, exportTable} {
		err := eachPair(s, columns, table, func(name, value string) {
			switch name {
			case "EXPORT_PRODUCT_VERSION":
				r.info.Version = version(value)
			case "EXPORT_SCHEMA_VERSION":
				r.info.Schema = version(value)
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
			r.info.Capture = mode
		}
	})
	if err != nil {
		return err
	}
	if err := r.readOrigin(s, columns, normalised, shift); err != nil {
		return err
	}
	if err := r.readGPUs(s, columns); err != nil {
		return err
	}
	if slices.Contains(r.host, event.Run) {
		if err := r.readTopology(s, columns); err != nil {
			return err
		}
	}
	return r.readDiagnostics(s, columns)
}

// readOrigin finds the UTC time that the report's time 0 stands for. A
// normalised export counts from 1970; one that was shifted, normalised or not,
// says by how much its times were moved.
func (r *report) readOrigin(s scanner, columns map[string][]string, normalised bool, shift int64) error {
	if shift < -maxTime || shift > maxTime {
		return nil
	}
	if normalised {
		r.origin, r.clocked = -shift, true
		return nil
	}
	return scanAll(s, columns, sessionTable, ints("utcEpochNs"), func(b *block) error {
		times := b.column("utcEpochNs")
		for i := range b.n {
			utc := times.Int[i]
			if !r.clocked && !times.Null[i] && utc > 0 && utc < maxTime {
				r.origin, r.clocked = utc-shift, true
				r.info.Origin = r.origin
			}
		}
		return nil
	})
}

// eachPair calls fn for the rows of a table of names and values.
func eachPair(s scanner, columns map[string][]string, table string, fn func(name, value string)) error {
	return scanAll(s, columns, table, textColumns("name", "value"), func(b *block) error {
		names, values := b.column("name"), b.column("value")
		for i := range b.n {
			fn(string(names.Text(i)), string(values.Text(i)))
		}
		return nil
	})
}

// readGPUs reads the models of the report's GPUs, and what distinguishes these from others,
// which goes into no stream.
func (r *report) readGPUs(s scanner, columns map[string][]string) error {
	err := scanAll(s, columns, gpuTable, textColumns("name"), func(b *block) error {
		names := b.column("name")
		for i := range b.n {
			if name := string(names.Text(i)); name != "" && !slices.Contains(r.info.GPUs, name) {
				r.info.GPUs = append(r.info.GPUs, name)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, table := range []string{gpuTable, deviceTable} {
		err := scanAll(s, columns, table, textColumns("uuid"), func(b *block) error {
			ids := b.column("uuid")
			for i := range b.n {
				if id := string(ids.Text(i)); id != "" {
					r.machine.uuids = append(r.machine.uuids, id)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := r.machine.readUUIDs(s, columns); err != nil {
		return err
	}
	return r.machine.readDevices(s, columns)
}

// version returns s if it looks like a version number, so that nothing else
// that stands in its place gets into an output.
func version(s string) string {
	if len(s) > 32 || strings.Trim(s, "0123456789.-") != "" {
		return ""
	}
	return s
}
