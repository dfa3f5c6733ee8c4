package command

// trtllmFlags are the flags of TensorRT-LLM's analysis scripts
// (detect_host_overhead.py, analyze_host_overhead.py), each with what does the same
// here.
var trtllmFlags = map[string]string{
	"json-only":          "--format json writes JSON alone",
	"no-m3":              "it is not needed: metrics that do not apply are null and do not count",
	"gpu-idle-threshold": "verdict --threshold gpu_idle_ratio=0.3 sets the limit of M1",
	"launch-threshold":   "verdict --threshold launch_overhead_ratio=0.1 sets the limit of M2",
	"gpu-util-threshold": "verdict --threshold gpu_utilization=0.6 sets the limit of M4",
	"tp-size":            "it is not needed: ranks are told apart by process and GPU",
	"mode":               "verdict detects, gaps and tracediff find the root cause",
	"mock":               "there is no mock data: a clone has testdata/llama_tp2.sqlite to try",
	"baseline":           "tracediff --baseline FILE --target FILE compares two runs",
	"target":             "tracediff --baseline FILE --target FILE compares two runs",
}
