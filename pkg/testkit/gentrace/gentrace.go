// Package gentrace is the command of scripts/gentrace. Tests run it in their own process.
package gentrace

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// Command writes simulated exports.
var Command = cli.Command{
	Name:    "gentrace",
	Summary: "write a made-up nsys export",
	Description: `Gentrace simulates an inference run on GPUs and writes what nsys would have recorded
of it. The same flags give the same bytes.`,
	Examples: []string{
		"gentrace --mode graph --schema 3.20.3 --markers trtllm2 -o whole.sqlite",
		"gentrace --reports --ranks 3 --set '{\"SlowRank\":1,\"Slow\":600}' -o rank%d.sqlite",
	},
	Flags: slices.Concat(exportFlags, runFlags(sim.Default())),
	Run:   func(c *cli.Call) (int, error) { return 0, generate(c) },
}

// exportFlags say what to write, and in what form.
var exportFlags = []cli.Flag{
	{Name: "output", Short: "o", Usage: "write to `FILE`; with --reports %d is the rank"},
	{Name: "text", Usage: "convert the text trace `FILE` instead of simulating"},
	{Name: "random", Usage: "write the small adversarial trace number `N` instead of simulating", Default: 0},
	{Name: "schema", Usage: "schema `VERSION`: 2020, 2.9.1, 3.4.0, 3.16.1, 3.20.3, 3.24.14, 3.25.0, 3.28.1", Default: sim.Schema3_25_0.String()},
	{Name: "empty-tables", Usage: "also write tables without rows", Default: false},
	{Name: "drop", Usage: "leave out a `TABLE` or TABLE.column", Default: []string{}},
	{Name: "normalize", Usage: "times since 1970, as nsys export --ts-normalize", Default: false},
	{Name: "canary", Usage: "plant `TEXT` where captures keep secrets"},
}

// runFlags say what to simulate; their defaults are those of d.
func runFlags(d sim.Config) []cli.Flag {
	return []cli.Flag{
		{Name: "seed", Usage: "of the noise", Default: int(d.Seed)},
		{Name: "events", Usage: "go on until there are `N` rows, instead of --steps", Default: 0},
		{Name: "steps", Usage: "steps of the benchmark segment", Default: d.Steps},
		{Name: "warmup", Usage: "steps of the warm-up segment", Default: d.Warmup},
		{Name: "ranks", Usage: "processes in tensor parallel", Default: d.Ranks},
		{Name: "layers", Usage: "layers of the model", Default: d.Layers},
		{Name: "mode", Usage: "`MODE` of CUDA graphs: eager, node, graph", Default: string(d.Mode)},
		{Name: "markers", Usage: "`WORDING` of the steps: trtllm1 to trtllm4, vllm, vllm2, sglang, none", Default: string(d.Markers)},
		{Name: "host", Usage: "`NAME=US`: mean cost of a host operation", Default: []string{}},
		{Name: "set", Usage: "change anything else of the simulation's Config by `JSON`, such as {\"Batch\":8,\"Traffic\":{\"Chunks\":3}}"},
		{Name: "truth", Usage: "write the steps, layers and straggler that were simulated to `FILE`, as JSON"},
		{Name: "kineto", Usage: "write traces of PyTorch's profiler of the `ERA` instead: 2020, 1.8, 1.12, 2.4, 2.7, 2026; one for each process, with %d in the name its rank"},
		{Name: "rocpd", Usage: "write databases of AMD's profilers instead, one for each process, with %d in the name its rank", Default: false},
		{Name: "functions", Usage: "with --kineto: record `N` Python functions for each range", Default: 0},
		{Name: "rocm", Usage: "with --kineto: with AMD's names of calls and collectives", Default: false},
		{Name: "broken", Usage: "with --kineto: break one event of 97 in the `WAY` that real ones are: " + strings.Join(sim.KinetoBreakages, ", ")},
		{Name: "reports", Usage: "one report for each rank", Default: false},
	}
}

// generate makes the traces that the flags ask for, and writes them.
func generate(c *cli.Call) error {
	if len(c.Files) > 0 {
		return fmt.Errorf("unexpected argument %q", c.Files[0])
	}
	if c.String("output") == "" {
		return errors.New("-o FILE is missing")
	}
	opt, err := options(c)
	if err != nil {
		return err
	}
	traces, opt, err := traces(c, opt)
	if err != nil {
		return err
	}
	for i, t := range traces {
		name := c.String("output")
		if len(traces) > 1 || c.Bool("reports") {
			name = strings.ReplaceAll(name, "%d", strconv.Itoa(i))
		}
		if c.IsSet("canary") {
			t.Capture.Secret = c.String("canary")
		}
		t.Session.Normalize = t.Session.Normalize || c.Bool("normalize")
		if c.Bool("rocpd") {
			for p := range t.Processes {
				path := strings.ReplaceAll(c.String("output"), "%d", strconv.Itoa(i*len(t.Processes)+p))
				if err := t.WriteRocpd(path, sim.RocpdOptions{Process: int32(p)}); err != nil {
					return err
				}
			}
			continue
		}
		if c.IsSet("kineto") {
			if err := writeKineto(c, t, i, len(traces)); err != nil {
				return err
			}
			continue
		}
		if err := write(t, name, opt); err != nil {
			return err
		}
		c.Log(fmt.Sprintf("%s: %d rows", name, t.Rows()))
	}
	return nil
}

// options returns how to write traces.
func options(c *cli.Call) (sim.Options, error) {
	schema, err := sim.ParseSchema(c.String("schema"))
	return sim.Options{
		Schema:      schema,
		EmptyTables: c.Bool("empty-tables"),
		Drop:        c.Strings("drop"),
	}, err
}

// traces returns the traces that the flags ask for, and how to write them. A text or
// random trace has options of its own, to which the flags add.
func traces(c *cli.Call, opt sim.Options) ([]*sim.Trace, sim.Options, error) {
	switch {
	case c.IsSet("text"):
		f, err := os.Open(c.String("text"))
		if err != nil {
			return nil, opt, err
		}
		defer f.Close()
		t, own, err := sim.ParseText(f)
		if err != nil {
			return nil, opt, fmt.Errorf("%s: %w", c.String("text"), err)
		}
		return []*sim.Trace{t}, merge(c, own, opt), nil
	case c.IsSet("random"):
		t, own := sim.Random(uint64(c.Int("random")))
		return []*sim.Trace{t}, merge(c, own, opt), nil
	}
	cfg, err := config(c)
	if err != nil {
		return nil, opt, err
	}
	ts, err := simulated(c, cfg)
	if len(ts) > 1 && !strings.Contains(c.String("output"), "%d") {
		return nil, opt, errors.New("several reports need a %d in the name of the output")
	}
	return ts, opt, err
}

// simulated returns the traces of a run, and writes its truth if the flag asks for it.
func simulated(c *cli.Call, cfg sim.Config) ([]*sim.Trace, error) {
	if !c.IsSet("truth") {
		return sim.SimulateTraces(cfg, c.Bool("reports"))
	}
	ts, truth, err := sim.SimulateTruth(cfg, c.Bool("reports"))
	if err == nil {
		err = writeTruth(truth, c.String("truth"))
	}
	return ts, err
}

// writeTruth writes the truth of a simulated run as JSON.
func writeTruth(truth *sim.Truth, name string) error {
	text, err := json.MarshalIndent(truth, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// merge returns a trace's own options, overridden by flags that were given.
func merge(c *cli.Call, own, flags sim.Options) sim.Options {
	if c.IsSet("schema") {
		own.Schema = flags.Schema
	}
	own.EmptyTables = own.EmptyTables || flags.EmptyTables
	own.Drop = append(own.Drop, flags.Drop...)
	return own
}

// config returns what to simulate: the flags, then --set on top of them.
func config(c *cli.Call) (sim.Config, error) {
	cfg := sim.Default()
	cfg.Seed = uint64(c.Int("seed"))
	cfg.Events, cfg.Steps, cfg.Warmup = c.Int("events"), c.Int("steps"), c.Int("warmup")
	cfg.Ranks, cfg.Layers = c.Int("ranks"), c.Int("layers")
	cfg.Mode, cfg.Markers = sim.Mode(c.String("mode")), sim.Markers(c.String("markers"))
	cfg.Host = sim.HostOps(cfg.Markers)
	for _, set := range c.Strings("host") {
		name, value, _ := strings.Cut(set, "=")
		us, err := strconv.ParseFloat(value, 64)
		if err != nil || !cfg.SetHost(name, us) {
			return cfg, fmt.Errorf("--host %s: not NAME=US of an operation of %s", set, cfg.Markers)
		}
	}
	if c.IsSet("set") {
		d := json.NewDecoder(strings.NewReader(c.String("set")))
		d.DisallowUnknownFields()
		if err := d.Decode(&cfg); err != nil {
			return cfg, fmt.Errorf("--set: %w", err)
		}
	}
	return cfg, nil
}

// write writes a trace in the format that the output's name implies.
func write(t *sim.Trace, name string, opt sim.Options) error {
	if strings.HasSuffix(name, "_pqtdir") || strings.HasSuffix(name, "/") {
		return t.WriteParquetDir(strings.TrimSuffix(name, "/"), opt)
	}
	return t.WriteSQLite(name, opt)
}

// writeKineto writes a PyTorch profiler trace for each process of a report. Each file
// appears whole or not at all.
func writeKineto(c *cli.Call, t *sim.Trace, report, reports int) error {
	world := len(t.Processes) * reports
	for p := range t.Processes {
		rank := report*len(t.Processes) + p
		name := strings.ReplaceAll(c.String("output"), "%d", strconv.Itoa(rank))
		out, err := renameio.NewPendingFile(name, renameio.WithPermissions(0o644))
		if err != nil {
			return err
		}
		defer out.Cleanup()
		err = t.WriteKineto(out, sim.KinetoOptions{
			Era: sim.KinetoEra(c.String("kineto")), Process: int32(p), Rank: rank, World: world, Functions: c.Int("functions"), ROCm: c.Bool("rocm"), Broken: c.String("broken"),
		})
		if err != nil {
			return err
		}
		if err := out.CloseAtomicallyReplace(); err != nil {
			return err
		}
		c.Log(name + ": written")
	}
	return nil
}
