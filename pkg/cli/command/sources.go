package command

import (
	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/cli"
)

// sourceMapFlag extends the table of ranges and functions.
var sourceMapFlag = cli.Flag{Name: "source-map", Usage: "add ranges and functions from the JSON `FILE` to the known ones", File: cli.Reads}

// sourcesOf returns the table of ranges and functions, extended by --source-map.
func sourcesOf(p *Plan) (*findings.Sources, error) {
	known := findings.DefaultSources()
	path := p.String("source-map")
	if path == "" {
		return known, nil
	}
	return readFile(p, path, known.Extend, notThis(path, `--source-map takes JSON such as {"ranges": [{"nvtx": "my_range", "function": "Engine.step", "file": "engine.py"}]}`))
}
