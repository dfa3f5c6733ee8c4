package round

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// Metric names a figure of a serving benchmark.
type Metric string

// The metrics, in report order. Latencies are means over requests in ms.
const (
	OutputThroughput  Metric = "throughput_tok_s"         // generated tokens per second, all requests
	RequestThroughput Metric = "request_throughput_req_s" // requests per second
	TPOT              Metric = "tpot_ms"                  // time per output token, without the first
	ITL               Metric = "itl_ms"                   // time between two tokens
	E2EL              Metric = "e2el_ms"                  // end-to-end time of a request
	TTFT              Metric = "ttft_ms"                  // time to first token
)

// Metrics are all metrics. The first one that both sides have decides.
var Metrics = []Metric{OutputThroughput, RequestThroughput, TPOT, ITL, E2EL, TTFT}

// HigherIsBetter reports whether more of a metric is an improvement.
func (m Metric) HigherIsBetter() bool { return m == OutputThroughput || m == RequestThroughput }

// Benchmark is one run of a benchmark. A missing metric was not measured.
type Benchmark map[Metric]float64

//go:embed bench.toml
var benchFile string

// benchKeys are the keys of each metric, best first.
var benchKeys = sync.OnceValue(func() (keys map[Metric][]string) {
	if _, err := toml.Decode(benchFile, &keys); err != nil {
		panic("BUG: bench.toml: " + err.Error())
	}
	return keys
})

// maxBench is the largest benchmark file, in bytes. Reason: files with a row per
// request have some MB.
const maxBench = 256 << 20

// notNumbers matches what Python writes for NaN and infinity: SGLang's files have
// "request_rate": Infinity.
var notNumbers = regexp.MustCompile(`([:,\[]\s*)-?(?:NaN|Infinity)\b`)

// ReadBench reads the JSON of a serving benchmark: one object, or several in sequence,
// each a run.
//
// Tools name the same figure differently, and some nest it: of a metric's paths the
// first that exists counts. An object with none of them is an error: it is most likely
// another file.
func ReadBench(r io.Reader) (runs []Benchmark, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBench+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBench {
		return nil, fmt.Errorf("a benchmark of more than %d MiB", maxBench>>20)
	}
	dec := json.NewDecoder(bytes.NewReader(notNumbers.ReplaceAll(data, []byte("${1}0"))))
	for {
		var object map[string]json.RawMessage
		switch err := dec.Decode(&object); {
		case err == io.EOF && len(runs) == 0:
			return nil, errors.New("empty")
		case err == io.EOF:
			return runs, nil
		case errors.As(err, new(*json.UnmarshalTypeError)):
			return nil, errors.New("not the result of a benchmark: want a JSON object")
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, errors.New("the JSON ends in the middle: the benchmark was cut short")
		case err != nil:
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		b := Benchmark{}
		for m, paths := range benchKeys() {
			for _, path := range paths {
				if x := number(object, path); x > 0 { // SGLang writes 0 if nothing was streamed
					b[m] = x
					break
				}
			}
		}
		if len(b) == 0 {
			return nil, errors.New("no throughput and no latency in it that a serving benchmark of TensorRT-LLM, vLLM or SGLang writes")
		}
		runs = append(runs, b)
	}
}

// number returns an object's number at a path, 0 if there is none.
func number(object map[string]json.RawMessage, path string) (x float64) {
	key, rest, nested := strings.Cut(path, "/")
	if !nested {
		if json.Unmarshal(object[key], &x) != nil {
			return 0
		}
		return x
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(object[key], &inner) != nil {
		return 0
	}
	return number(inner, rest)
}
