package kineto

// fields are the members of an event that matter, as in the document: strings have
// their quotes. Missing members are nil.
type fields struct {
	ph, cat, name, pid, tid, ts, dur []byte

	device, stream, correlation, bytes, node, group []byte // of args
}

// read reads an event, which must be an object. It returns false if the event is not
// JSON as far as it was parsed: unused nested values are skipped.
func (f *fields) read(b []byte) bool {
	*f = fields{}
	return members(b, false, func(key, value []byte) bool {
		switch string(key) {
		case `"ph"`:
			f.ph = value
		case `"cat"`:
			f.cat = value
		case `"name"`:
			f.name = value
		case `"pid"`:
			f.pid = value
		case `"tid"`:
			f.tid = value
		case `"ts"`:
			f.ts = value
		case `"dur"`:
			f.dur = value
		case `"args"`:
			return value[0] != '{' || members(value, true, f.arg)
		}
		return true
	})
}

// arg keeps an argument of an event if it matters. Keys are compared unparsed, quotes
// included: no writer escapes them.
func (f *fields) arg(key, value []byte) bool {
	switch string(key) {
	case `"device"`:
		f.device = value
	case `"stream"`:
		f.stream = value
	case `"correlation"`:
		f.correlation = value
	case `"bytes"`:
		f.bytes = value
	case `"graph node id"`:
		f.node = value
	case `"Group size"`:
		f.group = value
	}
	return true
}

// members calls fn with the keys and values of the object b. It returns false if b is not
// valid, or as soon as fn does. If empty is set, a missing value ("key": ,) is allowed
// and skipped: argument fragments without text look like that.
func members(b []byte, empty bool, fn func(key, value []byte) bool) bool {
	i := skipSpace(b, 1)
	for i < len(b) && b[i] != '}' {
		if b[i] != '"' {
			return false
		}
		end := stringEnd(b, i)
		if end >= len(b) {
			return false
		}
		key := b[i:end]
		if i = skipSpace(b, end); i == len(b) || b[i] != ':' {
			return false
		}
		i = skipSpace(b, i+1)
		end = anyEnd(b, i)
		switch {
		case end > len(b) || end == i && !empty:
			return false
		case end > i && !fn(key, b[i:end]):
			return false
		}
		i = skipSpace(b, end)
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
		} else if i == len(b) || b[i] != '}' {
			return false
		}
	}
	return i == len(b)-1
}
