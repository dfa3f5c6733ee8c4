package cudaname

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

func TestFamily(t *testing.T) {
	for _, c := range []struct {
		function, module string
		want             event.Class
	}{
		{"visit_decref", "/usr/bin/python3.11", event.GC},
		{"gc_collect_main", "/opt/conda/lib/libpython3.12.so.1.0", event.GC},
		{"gc_collect_region.constprop.0", "libpython3.14.so", event.GC},
		{"visit_decref", "/usr/lib/libruby.so", event.Other},
		{"list_traverse", "/usr/lib/libpython3.11.so.1.0", event.GC},
		{"tupletraverse.lto_priv.0", "/usr/bin/python3.12", event.GC},
		{"_PyObject_VisitInstanceAttributes", "libpython3.11.so.1.0", event.GC},
		{"THPVariable_subclass_traverse(_object*, int (*)(_object*, void*), void*)", "libtorch_python.so", event.Torch},
		{"list_traverse", "/home/me/a.out", event.Other},
		{"gc_alloc", "libpython3.11.so.1.0", event.Interpreter}, // makes an object, and may collect in a function of its own
		{"take_gil", "/usr/bin/python3.11", event.GIL},
		{"PyEval_RestoreThread", "/usr/bin/python3", event.GIL},
		// Locks, events and ends of threads since 3.13, not that of the interpreter.
		{"_PyParkingLot_Park", "/usr/lib/libpython3.13.so.1.0", event.Interpreter},
		{"_PyEval_EvalFrameDefault", "/usr/bin/python3.11", event.Interpreter},
		{"0x55f3", "/usr/bin/python3.11", event.Interpreter},
		{"_Py_dg_dtoa", "", event.Interpreter},
		{"_int_malloc", "/lib/x86_64-linux-gnu/libc.so.6", event.Alloc},
		{"__libc_free", "/lib/libc-2.31.so", event.Alloc},
		{"operator new(unsigned long)", "libstdc++.so.6", event.Alloc},
		{"memcpy", "libc.so.6", event.Libc},
		{"__vdso_clock_gettime", "[vdso]", event.Libc},
		{"at::native::add", "/x/torch/lib/libtorch_cpu.so", event.Torch},
		{"c10::impl", "libc10_cuda.so", event.Torch},
		{"x", "/usr/lib64-nvidia/libcuda.so.550.54.15", event.CUDALibrary},
		{"libcudart_static_58f95088c96b", "/home/me/a.out", event.CUDALibrary},
		{"cudaMemcpyAsync", "runtime.cpython-311-x86_64-linux-gnu.so", event.CUDALibrary},
		{"ncclProxyProgress", "libtorch_cuda_nccl.so", event.NCCL},
		{"x", "libnccl.so.2", event.NCCL},
		{"x", "/opt/nvidia/libcupti.so.12.9", event.ByProfiler},
		{"x", "/opt/nvidia/libToolsInjection64.so", event.ByProfiler},
		{"x", "libnvidia-ptxjitcompiler.so.550", event.JIT},
		{"llvm::f", "libtriton.so", event.JIT},
		{"tokenizers::encode", "tokenizers.abi3.so", event.Tokenizer},
		{"native_write_msr", "[kernel.kallsyms]", event.OSKernel},
		{"main", "/home/me/a.out", event.Other},
		{"", "", event.Other},
	} {
		if got, inside := Family(c.function, c.module); got != c.want || inside != (got == event.GC || got == event.GIL) {
			t.Errorf("%s in %s: %s, want %s", c.function, c.module, got, c.want)
		}
	}
}

func TestFrame(t *testing.T) {
	for _, c := range []struct {
		function, module string
		resolved         bool
		want             string
	}{
		{"main", "/home/CANARY/a.out", true, "main"},
		{"0x7f", "/home/CANARY/liba.so", false, "[liba.so]"},
		{"0x7f", `C:\Users\CANARY\a.dll`, false, "[a.dll]"},
		{"", "", true, "[Unknown]"},
		{"0x1", "[vdso]", false, "[vdso]"},
		{"[Max depth]", "[Max depth]", true, "[Max depth]"},
		{"_PyEval_EvalFrameDefault", "python3.11", true, "_PyEval_EvalFrameDefault [python]"},
		{"py::run:/home/CANARY/x/serve.py", "perf-1.map", true, "run (serve.py)"},
		{"f<&(/home/CANARY/x.cc:3)>", "a", true, "f<&(x.cc:3)>"},
		{"operator/(A const&, B const&)", "a", true, "operator/(A const&, B const&)"},
		{"a;b\nc\x1b[2J", "a", true, "a,b c [2J"},
		{strings.Repeat("n", 600), "a", true, strings.Repeat("n", 512) + "…"},
	} {
		if got := Frame(c.function, c.module, c.resolved); got != c.want {
			t.Errorf("%q in %q is %q, want %q", c.function, c.module, got, c.want)
		}
	}
	if got := Python("&lt;module&gt;", "&lt;frozen site&gt;", 7); got != "<module> (<frozen site>:7)" {
		t.Errorf("names as nsys escapes them: %q", got)
	}
	if got := Python("<module>", "/home/CANARY/m.py", 7); got != "<module> (m.py:7)" {
		t.Error(got)
	}
}
