package timeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WritePerfetto writes steps in the format of chrome://tracing, with times in us.
func WritePerfetto(w io.Writer, t *Timeline) error {
	out := bufio.NewWriter(w)
	j := jsonWriter{out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":["}
	for _, g := range layout(t) {
		j.line(`{"ph":"M","name":"process_name","pid":%d,"args":{"name":"rank %d"}}`, g.rank, g.rank)
		j.line(`{"ph":"M","name":"process_sort_index","pid":%d,"args":{"sort_index":%d}}`, g.rank, g.rank)
		for tid, track := range g.tracks {
			j.line(`{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":%s}}`, g.rank, tid, quote(track.name))
			j.line(`{"ph":"M","name":"thread_sort_index","pid":%d,"tid":%d,"args":{"sort_index":%d}}`, g.rank, tid, tid)
			for i := range track.slices {
				s := &track.slices[i]
				j.line(`{"ph":"X","name":%s,"cat":%s,"pid":%d,"tid":%d,"ts":%s,"dur":%s,"args":{%s}}`, quote(s.name), quote(s.category), g.rank, tid, decimalUs(s.start), decimalUs(s.end-s.start), strings.Join(s.args, ","))
				if s.out != 0 {
					j.line(`{"ph":"s","name":"launch","cat":"launch","id":%d,"pid":%d,"tid":%d,"ts":%s}`, s.out, g.rank, tid, decimalUs(s.start))
				}
				if s.in != 0 {
					j.line(`{"ph":"f","bp":"e","name":"launch","cat":"launch","id":%d,"pid":%d,"tid":%d,"ts":%s}`, s.in, g.rank, tid, decimalUs(s.start))
				}
			}
		}
	}
	if j.before != "\n," && j.before != "" { // no line was written
		out.WriteString(j.before)
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

// jsonWriter writes the events of a JSON trace.
type jsonWriter struct {
	*bufio.Writer
	before string // to write before the next event
}

func (j *jsonWriter) line(format string, args ...any) {
	j.WriteString(j.before)
	j.before = "\n,"
	fmt.Fprintf(j, format, args...)
}

// decimalUs formats ns exactly in us; ns must not be negative.
func decimalUs(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }

// quote returns a value as JSON, safe to embed in HTML.
func quote[V string | int64](v V) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(b)
}
