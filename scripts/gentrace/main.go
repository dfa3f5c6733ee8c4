// Gentrace writes a made-up nsys export: of a simulated inference run, of a
// trace written as text, or at random.
//
//	go run ./scripts/gentrace -o run.sqlite
//	go run ./scripts/gentrace --events 5000000 --seed 1 -o large.sqlite
//	go run ./scripts/gentrace --mode graph --schema 3.20.3 --markers trtllm2 -o whole.sqlite
//	go run ./scripts/gentrace --host _schedule=420 --seed 2 -o slower.sqlite
//	go run ./scripts/gentrace --reports --ranks 3 --slow-rank 1 --slow 600 -o rank%d.sqlite
//	go run ./scripts/gentrace --set '{"Engine":{"Ahead":10},"KernelScale":5}' --truth run.json -o ahead.sqlite
//	go run ./scripts/gentrace --text testdata/traces/orphan.trace -o orphan.sqlite
//	go run ./scripts/gentrace --random 7 -o random.sqlite
//
// --set takes any part of a sim.Config as JSON, --truth writes what really
// happened, see sim.Truth. An output whose name ends in _pqtdir or / becomes a directory of Parquet
// files. The same flags give the same bytes. What is written appears whole or
// not at all. Exit status: 0 done, 2 bad usage or input.
//
// The committed trace, a host-bound Llama of 16 layers on two ranks, is made by
//
//	go run ./scripts/gentrace --seed 1 --schema 3.20.3 --fused --steps 29 --context-every 10 \
//	    --warmup 3 --hole 300 --frontend --overheads --canary CANARY-hostbound -o testdata/llama_tp2.sqlite
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hostbound/hostbound/pkg/sim"
)

func main() { os.Exit(run(os.Args, os.Stdout, os.Stderr)) }

// run is the command; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	d := sim.Default()
	app := &cli.App{
		Name:                      "gentrace",
		Usage:                     "write a made-up nsys export",
		UsageText:                 "gentrace [flags] -o FILE",
		Writer:                    stdout,
		ErrWriter:                 stderr,
		HideVersion:               true,
		DisableSliceFlagSeparator: true,
		HideHelpCommand:           true,
		ExitErrHandler:            func(*cli.Context, error) {},
		Flags:                     flags(d),
		OnUsageError:              func(_ *cli.Context, err error, _ bool) error { return err },
		Action:                    func(c *cli.Context) error { return generate(c, stderr) },
	}
	if err := app.Run(args); err != nil {
		fmt.Fprintf(stderr, "gentrace: error: %v\n", err)
		return 2
	}
	return 0
}

func flags(d sim.Config) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write to `FILE`; with --reports %d is the rank"},
		&cli.StringFlag{Name: "text", Usage: "convert the text trace `FILE` instead of simulating"},
		&cli.Uint64Flag{Name: "random", Usage: "write the small adversarial trace number `N` instead of simulating"},
		&cli.StringFlag{Name: "schema", Usage: "schema `VERSION`: 2020, 2.9.1, 3.4.0, 3.16.1, 3.20.3, 3.24.14, 3.25.0, 3.28.1", Value: sim.Schema3_25_0.String()},
		&cli.BoolFlag{Name: "empty-tables", Usage: "also write tables without rows"},
		&cli.BoolFlag{Name: "reduced", Usage: "leave out globalPid, contextId, eventClass and all metadata"},
		&cli.StringSliceFlag{Name: "drop", Usage: "leave out a `TABLE` or TABLE.column"},
		&cli.BoolFlag{Name: "normalize", Usage: "times since 1970, as nsys export --ts-normalize"},
		&cli.Int64Flag{Name: "shift", Usage: "add `NS` to all times, as nsys export --ts-shift"},
		&cli.StringFlag{Name: "canary", Usage: "plant `TEXT` where captures keep secrets"},

		&cli.Uint64Flag{Name: "seed", Usage: "of the noise", Value: d.Seed},
		&cli.IntFlag{Name: "events", Usage: "go on until there are `N` rows, instead of --steps"},
		&cli.IntFlag{Name: "steps", Usage: "steps of the benchmark segment", Value: d.Steps},
		&cli.IntFlag{Name: "warmup", Usage: "steps of the warm-up segment", Value: d.Warmup},
		&cli.Float64Flag{Name: "hole", Usage: "idle `MS` after the warm-up", Value: d.Hole},
		&cli.IntFlag{Name: "ranks", Usage: "processes in tensor parallel", Value: d.Ranks},
		&cli.IntFlag{Name: "devices", Usage: "GPUs in each process", Value: d.Devices},
		&cli.IntFlag{Name: "layers", Usage: "layers of the model", Value: d.Layers},
		&cli.BoolFlag{Name: "fused", Usage: "7 kernels a layer, not 9"},
		&cli.IntFlag{Name: "batch", Usage: "generation requests of a steady step", Value: d.Batch},
		&cli.IntFlag{Name: "context-every", Usage: "one step in `N` is a context step", Value: d.ContextEvery},
		&cli.Float64Flag{Name: "prefill-scale", Usage: "how much longer kernels take in a context step", Value: d.PrefillScale},
		&cli.StringFlag{Name: "mode", Usage: "`MODE` of CUDA graphs: eager, node, graph", Value: string(d.Mode)},
		&cli.StringFlag{Name: "markers", Usage: "`WORDING` of the steps: trtllm1 to trtllm4, vllm, vllm2, sglang, none", Value: string(d.Markers)},
		&cli.BoolFlag{Name: "literal", Usage: "TensorRT-LLM ranges as literal text"},
		&cli.StringFlag{Name: "collective", Usage: "allreduce `KIND`: trtllm, nccl, vllm", Value: d.Collective},
		&cli.Float64Flag{Name: "dropped", Usage: "`SHARE` of graph replays that were not recorded"},
		&cli.StringSliceFlag{Name: "host", Usage: "`NAME=US`: mean cost of a host operation"},
		&cli.Float64Flag{Name: "host-scale", Usage: "`FACTOR` on all host operations", Value: 1},
		&cli.Float64Flag{Name: "host-noise", Usage: "relative standard `DEVIATION` of all host operations; negative: as built in", Value: -1},
		&cli.Float64Flag{Name: "kernel-scale", Usage: "`FACTOR` on all kernels", Value: d.KernelScale},
		&cli.Float64Flag{Name: "launch-cost", Usage: "`US` of a launch call", Value: d.LaunchCost},
		&cli.BoolFlag{Name: "overlap", Usage: "the host waits for the step before"},
		&cli.IntFlag{Name: "alloc-every", Usage: "allocate memory in one step of `N`"},
		&cli.IntFlag{Name: "gc-every", Usage: "collect garbage in one step of `N`"},
		&cli.Float64Flag{Name: "gil", Usage: "wait `US` a step for the interpreter lock, and record it"},
		&cli.IntFlag{Name: "slow-rank", Usage: "`RANK` that is slow on the host; -1: none", Value: d.SlowRank},
		&cli.Float64Flag{Name: "slow", Usage: "by `US` a step", Value: 500},
		&cli.StringFlag{Name: "slow-op", Usage: "in the host `OPERATION`", Value: d.SlowOp},
		&cli.BoolFlag{Name: "frontend", Usage: "add a process without GPU"},
		&cli.BoolFlag{Name: "overheads", Usage: "add time of the profiler itself"},
		&cli.StringFlag{Name: "set", Usage: "change the simulation's Config by `JSON`, such as {\"Traffic\":{\"Chunks\":3}}"},
		&cli.StringFlag{Name: "truth", Usage: "write the steps, layers and straggler that were simulated to `FILE`, as JSON"},
		&cli.BoolFlag{Name: "reports", Usage: "one report for each rank"},
		&cli.Float64Flag{Name: "clock-offset", Usage: "with --reports: the last report's clock is `US` late and its session start as early"},
		&cli.Float64Flag{Name: "clock-error", Usage: "with --reports: the last report's session start is off by `US`"},
	}
}

// generate makes the trace or traces and writes them.
func generate(c *cli.Context, stderr io.Writer) error {
	if c.Args().Present() {
		return fmt.Errorf("unexpected argument %q", c.Args().First())
	}
	if c.String("o") == "" {
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
		name := c.String("o")
		if len(traces) > 1 || c.Bool("reports") {
			name = strings.ReplaceAll(name, "%d", strconv.Itoa(i))
		}
		if c.IsSet("canary") {
			t.Capture.Secret = c.String("canary")
		}
		t.Session.Shift += c.Int64("shift")
		t.Session.Normalize = t.Session.Normalize || c.Bool("normalize")
		if err := write(t, name, opt); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "gentrace: %s: %d rows\n", name, t.Rows())
	}
	return nil
}

func options(c *cli.Context) (sim.Options, error) {
	schema, err := sim.ParseSchema(c.String("schema"))
	return sim.Options{
		Schema:      schema,
		EmptyTables: c.Bool("empty-tables"),
		Reduced:     c.Bool("reduced"),
		Drop:        c.StringSlice("drop"),
	}, err
}

// traces are what the flags ask for, and how to write it: a text or random
// trace brings its own options, to which the flags add.
func traces(c *cli.Context, opt sim.Options) ([]*sim.Trace, sim.Options, error) {
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
		t, own := sim.Random(c.Uint64("random"))
		return []*sim.Trace{t}, merge(c, own, opt), nil
	}
	cfg, err := config(c)
	if err != nil {
		return nil, opt, err
	}
	if c.Bool("reports") {
		if cfg.Ranks > 1 && !strings.Contains(c.String("o"), "%d") {
			return nil, opt, errors.New("--reports needs a %d in the name of the output")
		}
	}
	ts, truth, err := sim.SimulateTruth(cfg, c.Bool("reports"))
	if err == nil && c.IsSet("truth") {
		err = writeTruth(truth, c.String("truth"))
	}
	if len(ts) > 1 && !strings.Contains(c.String("o"), "%d") {
		return nil, opt, errors.New("several reports need a %d in the name of the output")
	}
	return ts, opt, err
}

func writeTruth(truth *sim.Truth, name string) error {
	text, err := json.MarshalIndent(truth, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// merge lets flags that were given override a trace's own options.
func merge(c *cli.Context, own, flags sim.Options) sim.Options {
	if c.IsSet("schema") {
		own.Schema = flags.Schema
	}
	own.EmptyTables = own.EmptyTables || flags.EmptyTables
	own.Reduced = own.Reduced || flags.Reduced
	own.Drop = append(own.Drop, flags.Drop...)
	return own
}

func config(c *cli.Context) (sim.Config, error) {
	cfg := sim.Default()
	cfg.Seed = c.Uint64("seed")
	cfg.Events, cfg.Steps, cfg.Warmup, cfg.Hole = c.Int("events"), c.Int("steps"), c.Int("warmup"), c.Float64("hole")
	cfg.Ranks, cfg.Devices, cfg.Layers, cfg.Fused = c.Int("ranks"), c.Int("devices"), c.Int("layers"), c.Bool("fused")
	cfg.Batch, cfg.ContextEvery, cfg.PrefillScale = c.Int("batch"), c.Int("context-every"), c.Float64("prefill-scale")
	cfg.Mode, cfg.Markers, cfg.Literal = sim.Mode(c.String("mode")), sim.Markers(c.String("markers")), c.Bool("literal")
	cfg.Collective, cfg.Dropped = c.String("collective"), c.Float64("dropped")
	cfg.KernelScale, cfg.LaunchCost, cfg.Overlap = c.Float64("kernel-scale"), c.Float64("launch-cost"), c.Bool("overlap")
	cfg.AllocEvery, cfg.GCEvery, cfg.GIL = c.Int("alloc-every"), c.Int("gc-every"), c.Float64("gil")
	cfg.SlowRank, cfg.Slow, cfg.SlowOp = c.Int("slow-rank"), c.Float64("slow"), c.String("slow-op")
	cfg.Frontend, cfg.Overheads = c.Bool("frontend"), c.Bool("overheads")
	cfg.ClockOffset = last(cfg.Ranks, c.Float64("clock-offset"))
	cfg.ClockError = last(cfg.Ranks, c.Float64("clock-error"))
	cfg.Host = sim.HostOps(cfg.Markers)
	for i := range cfg.Host {
		cfg.Host[i].Mean *= c.Float64("host-scale")
		if noise := c.Float64("host-noise"); noise >= 0 {
			cfg.Host[i].Noise = noise
		}
	}
	for _, set := range c.StringSlice("host") {
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

// last is a list of n values of which all but the last are 0, and empty where
// there are no other reports to differ from.
func last(n int, v float64) []float64 {
	if n < 2 || v == 0 {
		return nil
	}
	list := make([]float64, n)
	list[n-1] = v
	return list
}

func write(t *sim.Trace, name string, opt sim.Options) error {
	if strings.HasSuffix(name, "_pqtdir") || strings.HasSuffix(name, "/") {
		return t.WriteParquetDir(strings.TrimSuffix(name, "/"), opt)
	}
	return t.WriteSQLite(name, opt)
}
