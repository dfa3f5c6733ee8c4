package round

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Metric names a figure of a serving benchmark.
type Metric string

// The metrics, in the order of reports. Latencies are means over requests in ms.
const (
	OutputThroughput  Metric = "throughput_tok_s" // generated tokens per second, all requests
	RequestThroughput Metric = "request_throughput_req_s"
	TPOT              Metric = "tpot_ms" // time per output token, the first left out
	ITL               Metric = "itl_ms"  // time between two tokens
	E2EL              Metric = "e2el_ms" // time of a request from end to end
	TTFT              Metric = "ttft_ms" // time to first token
)

// Metrics are all of them. The first ones that both sides have decide.
var Metrics = []Metric{OutputThroughput, RequestThroughput, TPOT, ITL, E2EL, TTFT}

// HigherIsBetter tells whether more of a metric is an improvement.
func (m Metric) HigherIsBetter() bool { return m == OutputThroughput || m == RequestThroughput }

// Benchmark is one run of a benchmark. A metric that it lacks was not measured.
type Benchmark map[Metric]float64

// benchKeys are the keys of each metric by the tool that writes them, best first.
// A key is a path: the names of nested objects, joined by "/".
//
// vLLM (bench serve, benchmark_serving.py) and the copy of it in TensorRT-LLM
// write one flat object; SGLang (bench_serving) one in each line, with e2e_latency
// for e2el; older versions of it give medians only. trtllm-bench nests its report,
// and calls what it writes for TPOT the mean time between tokens of a request.
var benchKeys = map[Metric][]string{
	OutputThroughput:  {"output_throughput", "performance/system_output_throughput_tok_s", "performance/system_throughput_tok_s"},
	RequestThroughput: {"request_throughput", "performance/request_throughput_req_s"},
	TPOT:              {"mean_tpot_ms", "streaming_metrics/avg_tpot_ms", "median_tpot_ms"},
	ITL:               {"mean_itl_ms", "median_itl_ms"},
	E2EL:              {"mean_e2el_ms", "mean_e2e_latency_ms", "performance/avg_request_latency_ms", "median_e2el_ms", "median_e2e_latency_ms"},
	TTFT:              {"mean_ttft_ms", "streaming_metrics/avg_ttft_ms", "median_ttft_ms"},
}

// wanted are the paths of benchKeys.
var wanted = func() map[string]bool {
	m := map[string]bool{}
	for _, keys := range benchKeys {
		for _, k := range keys {
			m[k] = true
		}
	}
	return m
}()

// maxBenchDepth is how deep objects may be nested before the rest is no benchmark.
const maxBenchDepth = 64

// ReadBench reads the JSON that a serving benchmark wrote: one object, or several one
// after another, each a run. Memory does not grow with what else is in it.
//
// Tools name one figure differently, and some nest it: of the paths of a metric (benchKeys)
// the first that is there counts. An object with none of them is an error: it is most likely
// another file.
func ReadBench(r io.Reader) ([]Benchmark, error) {
	dec := json.NewDecoder(&strictJSON{r: r})
	dec.UseNumber()
	var runs []Benchmark
	for {
		t, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, notJSON(err)
		}
		if t != json.Delim('{') {
			return nil, errors.New("not the result of a benchmark: want a JSON object")
		}
		found := map[string]float64{}
		if err := walk(dec, "", 1, found); err != nil {
			return nil, notJSON(err)
		}
		b := Benchmark{}
		for _, m := range Metrics {
			for _, k := range benchKeys[m] {
				if x, ok := found[k]; ok {
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
	if len(runs) == 0 {
		return nil, errors.New("empty")
	}
	return runs, nil
}

// notJSON says why a document is no result: that it was cut short is worth saying apart.
func notJSON(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the JSON ends in the middle: the benchmark was cut short")
	}
	return fmt.Errorf("not JSON: %w", err)
}

// walk reads an object whose opening brace is read, and keeps its wanted numbers.
// path is that of the object, with a "/" at its end; keys are compared with it in front.
func walk(dec *json.Decoder, path string, depth int, found map[string]float64) error {
	if depth > maxBenchDepth {
		return errors.New("nested too deep for a benchmark")
	}
	for {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		if t == json.Delim('}') {
			return nil
		}
		name, _ := t.(string)
		if err := value(dec, path+name, depth, found); err != nil {
			return err
		}
	}
}

// value reads what a key has.
func value(dec *json.Decoder, path string, depth int, found map[string]float64) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Number:
		if x, err := t.Float64(); err == nil && wanted[path] && x > 0 && !math.IsInf(x, 0) {
			found[path] = x // what is not above zero was not measured: SGLang writes 0 where nothing streamed
		}
	case json.Delim:
		if t == '{' {
			return walk(dec, path+"/", depth+1, found)
		}
		return skipArray(dec, depth+1)
	}
	return nil
}

// skipArray reads to the end of an array.
// Results within arrays are of single requests, none of which is the benchmark's.
func skipArray(dec *json.Decoder, depth int) error {
	for open := 1; open > 0; {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('['), json.Delim('{'):
			open++
		case json.Delim(']'), json.Delim('}'):
			open--
		}
		if depth+open > maxBenchDepth {
			return errors.New("nested too deep for a benchmark")
		}
	}
	return nil
}

// strictJSON turns what Python writes for numbers that are none (NaN, Infinity,
// -Infinity) into 0, which counts as not measured: SGLang's files have
// "request_rate": Infinity.
type strictJSON struct {
	r        io.Reader
	inString bool
	escaped  bool
	word     bool // within such a word
}

// Read reads on. Words are replaced in place, by as many bytes, wherever a read ends: the
// state is kept between calls.
func (s *strictJSON) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	for i, c := range p[:n] {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped = c == '\\'
			s.inString = c != '"'
		case c == '"':
			s.inString, s.word = true, false
		case s.word:
			if s.word = c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'; s.word {
				p[i] = ' '
			}
		case c == 'N' || c == 'I':
			p[i], s.word = '0', true
		}
	}
	return n, err
}
