package hotspot

import "strings"

// ProfilerFunctions is the assignment with which TensorRT-LLM profiles the lines of the
// named functions ("PyTorchModelEngine._prepare_inputs") beside those that it profiles
// anyway; "" where none of them is of a class that is known.
func ProfilerFunctions(names []string) string {
	t := engines()
	var next []string
	for _, name := range names {
		class, method, ok := strings.Cut(name, ".")
		c := t.class(class)
		if !ok || c == nil {
			continue
		}
		next = append(next, c.Module+"."+name)
		if method == "_prepare_inputs" { // which only chooses one that prepares them
			next = append(next, c.Module+"."+class+"._prepare_tp_inputs")
		}
		next = append(next, t.chain(method)...)
	}
	if len(next) == 0 {
		return ""
	}
	return "TLLM_LINE_PROFILER_FUNCTIONS=" + strings.Join((&graph{byName: map[string][]*function{}}).targets(next), ",")
}
