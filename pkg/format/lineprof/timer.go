package lineprof

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// timerTitle begins TensorRT-LLM's table of functions that line_profiler cannot see:
//
//	=== Function Timer Results (mypyc-compatible) ===
//	Timer unit: 1 ns
//	Total calls  Total (ms)  Avg (us)  Min  Max  Exceptions  Function
//	-----------------------------------------------------------------
//	       4100       59.20     14.44   …            0       module.Class.method
var timerTitle = []byte("=== Function Timer Results")

// addTimer reads a line of that table.
func (t *textReader) addTimer(line []byte) bool {
	fields := bytes.Fields(line)
	if len(fields) < 5 {
		return len(fields) == 0 || bytes.HasPrefix(bytes.TrimSpace(line), []byte("Timer unit:")) || isRule(line, nil)
	}
	calls, err1 := strconv.ParseInt(string(fields[0]), 10, 64)
	ms, err2 := strconv.ParseFloat(string(fields[1]), 64)
	if errors.Is(err1, strconv.ErrRange) && calls > 0 {
		t.many++
		calls, err1 = most, nil
	}
	if err1 != nil || err2 != nil || calls < 0 || !(ms >= 0) {
		return isRule(line, nil) || bytes.Contains(line, []byte("Total calls"))
	}
	full := string(fields[len(fields)-1])
	fn := &Function{path: full, SelfNs: -1, Calls: min(calls, most), Ns: roundNs(ms * 1e6)}
	fn.File, fn.Name = splitTarget(full)
	t.addFunction(fn)
	t.timers++
	return true
}

// splitTarget splits module.Class.method, module::function or module.function into a
// module and a name in it. A class begins with a capital letter.
func splitTarget(full string) (file, name string) {
	module, name, ok := strings.Cut(full, "::")
	if !ok {
		parts := strings.Split(full, ".")
		n := len(parts) - 1
		if class := strings.TrimLeft(parts[max(0, n-1)], "_"); n > 1 && class != "" && class[0] >= 'A' && class[0] <= 'Z' {
			n--
		}
		module, name = strings.Join(parts[:n], "."), strings.Join(parts[n:], ".")
	}
	if module == "" {
		return "", name
	}
	return strings.ReplaceAll(module, ".", "/") + ".py", name
}
