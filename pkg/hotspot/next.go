package hotspot

import "strings"

// ToProfile is the engine that most of the named functions ("GPUModelRunner.execute_model")
// are of, and their full names with those that they usually lead to; nil where none is known.
func ToProfile(names []string) (of *Engine, full []string) {
	most := 0
	for _, e := range Engines() {
		var found []string
		known := 0
		for _, name := range names {
			class, method, _ := strings.Cut(name, ".")
			c := e.class(class)
			if c == nil {
				continue
			}
			known++
			if c.has(method) {
				known++ // Scheduler is a class of two engines
			}
			found = append(append(found, c.full(method)), e.chain(name)...)
		}
		if known > most {
			most, of, full = known, e, found
		}
	}
	return of, full
}
