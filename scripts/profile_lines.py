#!/usr/bin/env python3
"""Profile the lines of named functions in every process that an engine starts.

    HOSTBOUND_LINES='vllm.v1.worker.gpu_model_runner.GPUModelRunner._prepare_inputs' \\
        scripts/profile_lines.py -o lines.txt -- vllm serve MODEL

Wraps the functions with line_profiler as soon as their modules are imported, in the
command and in all Python processes that it starts. Each process that ran one of them
writes a file of its own (lines.PID.txt, of a rank lines.rankN.PID.txt), in the text
format of line_profiler, which hotspots reads.

    -f, --functions LIST   module.Class.method and module::function, separated by commas
                           (default: $HOSTBOUND_LINES). `hotspots --targets ENGINE` prints
                           the first assignment, and `profile_next` of its JSON the next
    -o, --output FILE      (default: $HOSTBOUND_LINES_PATH, else lines.txt)
    --delay SECONDS        leave out what each process does before: loading and warm-up
    --every SECONDS        also write the file that often (default 10): a process that is
                           killed loses no more than that; 0: only at the end

line_profiler must be installed in the engine's Python. It makes short lines look
longer: compare rounds with one another, and take no verdict from a profiled run.
Functions that are compiled, or that torch.compile has replaced, have no lines.

Exit status: that of COMMAND; 2 bad usage.
"""

import argparse
import atexit
import importlib.abc
import importlib.machinery
import inspect
import os
import sys
import tempfile
import threading
import time
from multiprocessing import util

FUNCTIONS, PATH = "HOSTBOUND_LINES", "HOSTBOUND_LINES_PATH"
DELAY, EVERY = "HOSTBOUND_LINES_DELAY", "HOSTBOUND_LINES_EVERY"
FOLDER = "HOSTBOUND_LINES_HOOK"  # holds the sitecustomize.py that loads this file


def parse(text):
    """Return {module: [(class or None, function)]} of a list of names."""
    wanted = {}
    for name in filter(None, (part.strip() for part in text.split(","))):
        if "::" in name:
            module, _, function = name.partition("::")
            owner = None
        else:
            path, _, function = name.rpartition(".")
            module, _, owner = path.rpartition(".")
        if not module or not function:
            raise ValueError(f"{name!r} is neither module.Class.method nor module::function")
        wanted.setdefault(module, []).append((owner, function))
    return wanted


class Recorder:
    """Wraps functions of modules and writes what their lines took in this process."""

    def __init__(self, wanted, path, delay=0.0, every=10.0):
        from line_profiler import LineProfiler

        self.wanted, self.path = wanted, path
        self.profiler = LineProfiler()
        self.names = {}  # of code, as line_profiler keys it: qualified, as newer versions have it
        self.lock = threading.Lock()
        self.missing = {(m, *names) for m, all_names in wanted.items() for names in all_names}
        self.begin(delay, every)
        os.register_at_fork(after_in_child=lambda: self.begin(delay, every, forked=True))

    def begin(self, delay, every, forked=False):
        """Begin anew in this process: what came before is not its own."""
        self.base = self.hits() if forked else {}
        self.lock = threading.Lock()
        if not forked:
            atexit.register(self.write)
            self.finalize()
            util.register_after_fork(self, Recorder.finalize)  # it forgets its finalizers in a child
        if delay or every:
            threading.Thread(target=self.watch, args=(delay, every), daemon=True).start()

    def finalize(self):
        """Have multiprocessing write the file, whose processes run no functions of atexit."""
        util.Finalize(None, self.write, exitpriority=1)

    def watch(self, delay, every):
        if delay:
            time.sleep(delay)
            self.base = self.hits()
        while every:
            time.sleep(every)
            self.write()

    def wrap(self, module):
        """Put wrappers in the place of a module's functions. What is not there is said."""
        for owner, name in self.wanted[module.__name__]:
            holder = module if owner is None else getattr(module, owner, None)
            held = inspect.getattr_static(holder, name, None) if holder is not None else None
            function = inspect.unwrap(getattr(held, "__func__", held)) if held is not None else None
            if not inspect.isfunction(function):
                continue
            self.missing.discard((module.__name__, owner, name))
            code = function.__code__
            self.names[code.co_filename, code.co_firstlineno, code.co_name] = function.__qualname__
            wrapped = self.profiler(function)
            if isinstance(held, (staticmethod, classmethod)):
                wrapped = type(held)(wrapped)
            setattr(holder, name, wrapped)

    def hits(self):
        """Return {function: {line: (hits, time)}} of all that was recorded."""
        timings = self.profiler.get_stats().timings
        return {key: {line: (hits, took) for line, hits, took in lines} for key, lines in timings.items()}

    def recorded(self):
        """Return the same as line_profiler has it, without what came before this began."""
        all_lines = {}
        for key, lines in self.hits().items():
            before = self.base.get(key, {})
            rows = []
            for line, (hits, took) in sorted(lines.items()):
                old_hits, old_took = before.get(line, (0, 0))
                if hits > old_hits:
                    rows.append((line, hits - old_hits, took - old_took))
            if rows:
                file, first, name = key
                all_lines[file, first, self.names.get(key, name)] = rows
        return all_lines

    def write(self):
        """Write the file of this process, whole or not at all, if it has anything to say."""
        from line_profiler import show_text

        with self.lock:
            lines = self.recorded()
            if not lines:
                return
            path = own_path(self.path)
            with open(path + ".tmp", "w", encoding="utf-8", errors="backslashreplace") as out:
                show_text(lines, self.profiler.get_stats().unit, stream=out)
                for module, owner, name in sorted(self.missing, key=str):
                    if module in sys.modules:
                        full = f"{module}.{owner}.{name}" if owner else f"{module}::{name}"
                        out.write(f"profile_lines: no function {full} with lines\n")
            os.replace(path + ".tmp", path)


def own_path(path):
    """Return the file of this process: the path with its rank, if it has one, and its id."""
    root, extension = os.path.splitext(path)
    for variable in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK", "LOCAL_RANK"):
        if os.environ.get(variable, "").isdigit():
            return f"{root}.rank{os.environ[variable]}.{os.getpid()}{extension}"
    return f"{root}.{os.getpid()}{extension}"


class Finder(importlib.abc.MetaPathFinder):
    """Has a recorder wrap the functions of modules when these are imported."""

    def __init__(self, recorder):
        self.recorder = recorder

    def find_spec(self, name, path=None, target=None):
        if name not in self.recorder.wanted:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        run, recorder = spec.loader.exec_module, self.recorder

        def run_and_wrap(module):
            run(module)
            recorder.wrap(module)

        spec.loader.exec_module = run_and_wrap
        return spec


def install():
    """Begin to record in this process what the environment names. Called by sitecustomize."""
    names = os.environ.get(FUNCTIONS, "")
    if not names or any(isinstance(f, Finder) for f in sys.meta_path):
        return
    try:
        wanted = parse(names)
        recorder = Recorder(wanted, os.environ.get(PATH, "lines.txt"),
                            float(os.environ.get(DELAY, 0)), float(os.environ.get(EVERY, 10)))
    except (ImportError, ValueError) as err:  # an engine goes on without a profile, and says so
        print(f"profile_lines: nothing is profiled in process {os.getpid()}: {err}", file=sys.stderr)
        return
    sys.meta_path.insert(0, Finder(recorder))
    main = sys.modules.get("__main__")
    if main is not None and "__main__" in wanted:
        recorder.wrap(main)


# What Python runs at its start where this folder comes first on PYTHONPATH. The
# sitecustomize that stands behind it, if there is one, runs as well.
HOOK = """\
import importlib.machinery, importlib.util, os, sys
here = os.environ[{folder!r}]
behind = [p for p in sys.path if os.path.abspath(p or ".") != here]
spec = importlib.machinery.PathFinder.find_spec("sitecustomize", behind)
if spec and spec.loader:
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
spec = importlib.util.spec_from_file_location("hostbound_profile_lines", {script!r})
module = importlib.util.module_from_spec(spec)
sys.modules["hostbound_profile_lines"] = module
spec.loader.exec_module(module)
module.install()
"""


def main(arguments):
    own, command = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        own, command = arguments[:at], arguments[at + 1:]
    parser = argparse.ArgumentParser(prog="profile_lines", usage="profile_lines.py [OPTIONS] -- COMMAND [ARGUMENTS]",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-f", "--functions", default=os.environ.get(FUNCTIONS, ""), help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", default=os.environ.get(PATH, "lines.txt"), help=argparse.SUPPRESS)
    parser.add_argument("--delay", type=float, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--every", type=float, default=10, help=argparse.SUPPRESS)
    options = parser.parse_args(own)
    if not command:
        return fail("no command to run", "profile_lines.py [OPTIONS] -- COMMAND")
    try:
        if not parse(options.functions):
            return fail("no functions to profile", f"name them with --functions, or in ${FUNCTIONS}")
    except ValueError as err:
        return fail(str(err), "separate names by commas")
    os.makedirs(os.path.dirname(os.path.abspath(options.output)), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hostbound-lines-") as folder:
        with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="utf-8") as hook:
            hook.write(HOOK.format(folder=FOLDER, script=os.path.abspath(__file__)))
        path = [folder] + [p for p in [os.environ.get("PYTHONPATH")] if p]
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path))
        environment.update({FUNCTIONS: options.functions, PATH: os.path.abspath(options.output),
                            DELAY: str(options.delay), EVERY: str(options.every), FOLDER: folder})
        return run(command, environment)


def run(command, environment):
    """Run the command to its end; signals that would end this go to it."""
    import signal
    import subprocess

    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as err:
        return fail(f"{command[0]}: {err.strerror}", "check the name")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda n, _: process.send_signal(n))
    status = process.wait()
    return 128 - status if status < 0 else status


def fail(message, hint):
    print(f"profile_lines: error: {message}\nprofile_lines: hint: {hint}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
