"""Runs the toy engine: `serve.py profile` with line_profiler, `serve.py bench FILE`
without it, writing what serving benchmarks write.

The profile goes to TLLM_LINE_PROFILER_PATH. The functions that are profiled are the
engine's own and those that TLLM_LINE_PROFILER_FUNCTIONS names and that are there.
"""

import json
import os
import sys
import time

sys.dont_write_bytecode = True  # a change within a second must count

import engine

DEFAULTS = ["engine.Engine.step", "engine.Engine.prepare_inputs", "engine.Engine.update"]


def made(requests):
    e = engine.Engine()
    e.submit(requests, 24)
    return e


def find(name):
    """The function of a dotted name, None where there is none in this engine."""
    module, _, rest = name.strip().replace("::", ".").partition(".")
    if module != "engine":
        return None
    found = engine
    for part in rest.split("."):
        found = getattr(found, part, None)
    return found


def profile():
    import line_profiler

    names = DEFAULTS + os.environ.get("TLLM_LINE_PROFILER_FUNCTIONS", "").split(",")
    functions = {f.__name__: f for f in map(find, names) if f is not None}
    profiler = line_profiler.LineProfiler(*functions.values())
    e = made(960)
    profiler.runcall(e.run)
    with open(os.environ["TLLM_LINE_PROFILER_PATH"], "w") as out:
        profiler.print_stats(stream=out)


def bench(path):
    """Time is that of the CPU, which neighbours on the machine change less."""
    made(160).run()
    e = made(960)
    begin = time.process_time()
    steps = 0
    while e.waiting or e.running:
        e.step()
        steps += 1
    seconds = time.process_time() - begin
    with open(path, "w") as out:
        json.dump({"duration": seconds, "completed": 960, "request_throughput": 960 / seconds,
                   "output_throughput": e.generated / seconds, "mean_tpot_ms": 1000 * seconds / steps}, out)


def test():
    e = made(200)
    want = sum(24 + i % 7 for i in range(200))
    assert e.run() == want, f"{e.generated} tokens, want {want}"


if __name__ == "__main__":
    {"profile": profile, "bench": bench, "test": test}[sys.argv[1]](*sys.argv[2:])
