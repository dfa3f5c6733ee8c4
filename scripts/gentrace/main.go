// Gentrace writes a synthetic nsys export: of a simulated inference run, of a
// trace written as text, or of a random trace.
//
//	go run ./scripts/gentrace -o run.sqlite
//	go run ./scripts/gentrace --events 5000000 --seed 1 -o large.sqlite
//	go run ./scripts/gentrace --mode graph --schema 3.20.3 --markers trtllm2 -o whole.sqlite
//	go run ./scripts/gentrace --host _schedule=420 --seed 2 -o slower.sqlite
//	go run ./scripts/gentrace --reports --ranks 3 --set '{"SlowRank":1,"Slow":600}' -o rank%d.sqlite
//	go run ./scripts/gentrace --set '{"Engine":{"Ahead":10},"KernelScale":5}' --truth run.json -o ahead.sqlite
//	go run ./scripts/gentrace --text testdata/traces/orphan.trace -o orphan.sqlite
//	go run ./scripts/gentrace --random 7 -o random.sqlite
//
// --set takes any part of a sim.Config as JSON; --truth writes what really happened
// (sim.Truth). An output whose name ends in _pqtdir or / becomes a directory of Parquet
// files. The same flags give the same bytes. Outputs appear whole or not at all. Exit
// status: 0 done, 2 bad usage or input.
//
// The committed trace, a host-bound Llama with 16 layers on two ranks, is made by
//
//	go run ./scripts/gentrace --seed 1 --schema 3.20.3 --steps 29 --warmup 3 \
//	    --set '{"Fused":true,"ContextEvery":10,"Pause":300,"Frontend":true,"Overheads":true}' \
//	    --canary CANARY-hostbound -o testdata/llama_tp2.sqlite
package main

import (
	"os"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/testkit/gentrace"
)

func main() { os.Exit(cli.Run(&gentrace.Command, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
