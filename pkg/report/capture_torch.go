package report

// Torch is Python code that records the steps of a loop with PyTorch's profiler, after
// the first ones. A range around each step says how many requests it serves, named like
// vLLM's own ranges (package marker).
const Torch = `from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
             schedule=` + TorchSchedule + `,
             on_trace_ready=tensorboard_trace_handler("traces", use_gzip=True)) as profiler:
    for batch in YOUR_BATCHES:
        prefill, decode = 0, len(batch)  # requests
        with record_function(f"execute_context_{prefill}(0)_generation_{decode}({decode})"):
            YOUR_STEP(batch)
        profiler.step()
`

// TorchLoop is Torch for steps that serve no requests, such as training steps: the
// schedule itself marks them.
const TorchLoop = `from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
             schedule=` + TorchSchedule + `,
             on_trace_ready=tensorboard_trace_handler("traces", use_gzip=True)) as profiler:
    for batch in YOUR_BATCHES:
        YOUR_STEP(batch)
        profiler.step()
`

// TorchSchedule is the schedule in Torch: fifty steps, after some in which the profiler
// starts up.
const TorchSchedule = `schedule(wait=10, warmup=5, active=50, repeat=1)`

// TorchFewer is a schedule of fewer steps, for a profiler that cannot keep up.
const TorchFewer = `schedule(wait=10, warmup=5, active=20, repeat=1)`

// TorchEngines records with PyTorch's profiler in engines that have it built in: from
// the first call to the second.
const TorchEngines = `vllm serve MODEL --profiler-config '{"profiler": "torch", "torch_profiler_dir": "/tmp/traces", "torch_profiler_with_stack": false}'
SGLANG_TORCH_PROFILER_DIR=/tmp/traces python3 -m sglang.launch_server --model-path MODEL
curl -X POST http://localhost:PORT/start_profile; sleep 2; curl -X POST http://localhost:PORT/stop_profile
TLLM_TORCH_PROFILE_TRACE=/tmp/traces/rank0.json TLLM_PROFILE_START_STOP=100-150 trtllm-bench ...
`

// PythonToo also reads the Python functions of a trace, and reports where the idle time
// goes.
const PythonToo = "torch2arrow --python FILE | gaps"

// ROCm records what host threads do on AMD systems, which no filter can read yet;
// ROCmName says so.
const (
	ROCm     = "rocprof-sys-sample -- YOUR-COMMAND"
	ROCmName = "sample the host with AMD's ROCm Systems Profiler, whose samples these filters do not read"
)

// Rocprof records a run on AMD GPUs for these filters; RocprofName describes it.
const (
	Rocprof     = "rocprofv3 --runtime-trace --output-format rocpd -- YOUR-COMMAND"
	RocprofName = "record kernels, HIP calls and roctx ranges: rocprofv3 --runtime-trace"
)

// TorchStacks says which options of PyTorch's profiler to leave off.
const TorchStacks = "Leave with_stack, record_shapes and profile_memory off: they slow the host, which is what is measured."
