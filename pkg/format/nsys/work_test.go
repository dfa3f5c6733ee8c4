package nsys

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestWorkload wants what the run does in the header, by rows: a string that no row has, as
// every name that the profiler met may be among them, says nothing.
func TestWorkload(t *testing.T) {
	const tables = `CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
		INSERT INTO StringIds VALUES (0, 'k'), (1, 'NAME');
		CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, globalPid INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, shortName INTEGER, demangledName INTEGER);
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 281474976710656, 0, 7, 1, 0, KERNEL);
		CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, eventType INTEGER, globalTid INTEGER, textId INTEGER, text TEXT);
		INSERT INTO NVTX_EVENTS VALUES (5, 25, 59, 281474976710657, RANGE);`
	for _, c := range []struct{ name, kernel, text, want string }{
		{"AddmmBackward0", "0", "0, NULL", ""},
		{"AddmmBackward0", "0", "1, NULL", event.Training},
		{"", "0", "NULL, 'Optimizer.step#SGD.step'", event.Training},
		{"void softmax_warp_backward<float>()", "1", "0, NULL", event.Training},
		{"void multi_tensor_apply_kernel<TensorListMetadata<2>, Copy<long>>()", "1", "0, NULL", ""},
		{"denoise", "0", "1, NULL", event.Diffusion},
		{"[Executor] _forward_step 7: 2 ctx reqs, 4 gen reqs", "0", "1, NULL", ""},
	} {
		r, err := Open([]string{database(t, strings.NewReplacer("NAME", c.name, "KERNEL)", c.kernel+")", "RANGE", c.text).Replace(tables))}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Header().Workload(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
		r.Close()
	}
}
