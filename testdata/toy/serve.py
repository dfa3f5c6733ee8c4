"""Runs the toy engine: `serve.py profile` with line_profiler, `serve.py bench FILE`
without it, writing what serving benchmarks write.

The profile goes to TLLM_LINE_PROFILER_PATH. The functions that are profiled are the
engine's own and those that TLLM_LINE_PROFILER_FUNCTIONS names and that are there.

Time is counted, not measured, so that the same code takes the same time on any machine,
however busy: a run of the engine advances a clock by LINE_NS for each of its lines, by
COMPARE_NS for each comparison of a token and by BYTE_NS for each byte of JSON.
"""

import json
import os
import sys
import types

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


class Clock:
    """Runs an engine, and counts what that takes."""

    LINE_NS, COMPARE_NS, BYTE_NS = 40, 6, 8

    def __init__(self):
        self.ns = 0
        self.lines = {}  # (file, first line of the function, its name) and line: ns, with what it calls
        self.open = {}  # frame: the line that it is at, and since when

    def trace(self, frame, event, _):
        code = frame.f_code
        if code.co_filename != engine.__file__:
            return None
        if frame in self.open:
            line, since = self.open.pop(frame)
            at = (code.co_filename, code.co_firstlineno, code.co_name), line
            self.lines[at] = self.lines.get(at, 0) + self.ns - since
        if event == "line":
            self.open[frame] = frame.f_lineno, self.ns
            self.ns += self.LINE_NS
        return self.trace

    def dumps(self, value):
        text = json.dumps(value)
        self.ns += self.BYTE_NS * len(text)
        return text

    def token(self):
        """A class of tokens: a list asks each element whether it equals one, a set hashes it."""
        clock = self

        class Token(int):
            __hash__ = int.__hash__

            def __eq__(self, other):
                clock.ns += clock.COMPARE_NS
                return int.__eq__(self, other)

        return Token

    def run(self, e):
        """Runs an engine to its end, and returns how many steps it made."""
        token, forward = self.token(), e.forward
        e.forward = lambda *inputs: [token(t) for t in forward(*inputs)]
        engine.json = types.SimpleNamespace(dumps=self.dumps)
        steps = 0
        sys.settrace(self.trace)
        while e.waiting or e.running:
            e.step()
            steps += 1
        sys.settrace(None)
        return steps


def profile():
    """What line_profiler writes, with its hits and the clock's times."""
    import line_profiler

    names = DEFAULTS + os.environ.get("TLLM_LINE_PROFILER_FUNCTIONS", "").split(",")
    functions = {f.__name__: f for f in map(find, names) if f is not None}
    profiler = line_profiler.LineProfiler(*functions.values())
    e = made(96)
    profiler.runcall(e.run)
    clock = Clock()
    clock.run(made(96))
    # newer versions have the qualified name in a key, and Python's has not
    ns = {(file, first, line): t for ((file, first, _), line), t in clock.lines.items()}
    timings = {key: [(line, hits, ns.get((*key[:2], line), 0)) for line, hits, _ in lines]
               for key, lines in profiler.get_stats().timings.items()}
    with open(os.environ["TLLM_LINE_PROFILER_PATH"], "w") as out:
        line_profiler.show_text(timings, 1e-9, stream=out)


def bench(path):
    e, clock = made(96), Clock()
    steps = clock.run(e)
    seconds = clock.ns / 1e9
    with open(path, "w") as out:
        json.dump({"duration": seconds, "completed": 96, "request_throughput": 96 / seconds,
                   "output_throughput": e.generated / seconds, "mean_tpot_ms": 1000 * seconds / steps}, out)


def test():
    e = made(200)
    want = sum(24 + i % 7 for i in range(200))
    assert e.run() == want, f"{e.generated} tokens, want {want}"


if __name__ == "__main__":
    {"profile": profile, "bench": bench, "test": test}[sys.argv[1]](*sys.argv[2:])
