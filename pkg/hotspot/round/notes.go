package round

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/BurntSushi/toml"
)

// Notes are a user's remarks about the rounds: a file in TOML or JSON.
//
//	[[rounds]]
//	name = "round1_one_loop"
//	change = "one loop over the requests instead of three"
//	file = "model_engine.py"
//	line = 1176
//	type = "REDUNDANT_ITER"
//	tests = "passed"            # or "failed"
//	reverted = false
//	cpus = "0-15"               # the CPUs that the engine was allowed to run on
//
//	[[rounds.failed]]           # what was tried in this round, and taken back
//	change = "a conditional expression instead of the branch"
//	type = "FUNCALL"
//	reason = "3 times slower per hit"
type Notes struct {
	Rounds []Note `json:"rounds" toml:"rounds"` // in any order, each once
}

// Note is the note on one round. Only its name is required.
type Note struct {
	Name     string   `json:"name" toml:"name"`         // the round's name
	Change   string   `json:"change" toml:"change"`     // what was changed, a phrase
	Function string   `json:"function" toml:"function"` // the target, if Line does not give it
	File     string   `json:"file" toml:"file"`         // only its base name counts
	Line     int      `json:"line" toml:"line"`         // before the change, 0 if unknown
	Type     string   `json:"type" toml:"type"`         // type of waste, as in hotspots --types
	Tests    string   `json:"tests" toml:"tests"`       // "passed", "failed", or "" if not run
	Reverted bool     `json:"reverted" toml:"reverted"` // the change was reverted: the next round starts without it
	CPUs     string   `json:"cpus" toml:"cpus"`         // CPUs that the engine was allowed to run on, such as 0-7,16
	Failed   []Failed `json:"failed" toml:"failed"`     // what else was tried in the round
}

// Failed is a change that was reverted.
type Failed struct {
	Change string `json:"change" toml:"change"` // a phrase
	Type   string `json:"type" toml:"type"`     // type of waste that it was to remove
	Reason string `json:"reason" toml:"reason"` // why it was reverted
}

// maxNotes is the most bytes of notes.
const maxNotes = 4 << 20

// ReadNotes reads notes in JSON or TOML, recognised by the first character. Unknown
// keys are errors: a change noted under a wrong key would be lost silently.
func ReadNotes(r io.Reader) (*Notes, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxNotes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxNotes {
		return nil, fmt.Errorf("notes of more than %d MiB", maxNotes>>20)
	}
	n := &Notes{}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(n); err != nil {
			return nil, fmt.Errorf("not notes in JSON: %w", err)
		}
	} else {
		meta, err := toml.Decode(string(data), n)
		if err != nil {
			return nil, fmt.Errorf("not notes in TOML: %w", err)
		}
		if extra := meta.Undecoded(); len(extra) > 0 {
			return nil, fmt.Errorf("notes have no key %s", extra[0])
		}
	}
	return n, n.check()
}

// check refuses ambiguous notes.
func (n *Notes) check() error {
	seen := map[string]bool{}
	for _, r := range n.Rounds {
		switch {
		case r.Name == "":
			return errors.New("a round of the notes has no name")
		case seen[r.Name]:
			return fmt.Errorf("the notes name %s twice", r.Name)
		case r.Tests != "" && r.Tests != "passed" && r.Tests != "failed":
			return fmt.Errorf("tests of %s: want \"passed\" or \"failed\"", r.Name)
		}
		seen[r.Name] = true
	}
	return nil
}

// of returns the note on a round, nil if there is none.
func (n *Notes) of(name string) *Note {
	if n == nil {
		return nil
	}
	if i := slices.IndexFunc(n.Rounds, func(r Note) bool { return r.Name == name }); i >= 0 {
		return &n.Rounds[i]
	}
	return nil
}
