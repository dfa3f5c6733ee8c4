#!/usr/bin/env python3
"""Archives a tree of nsys reports on a Dask cluster.

    scripts/archive_dask.py [--scheduler ADDRESS] TREE OUT [OPTIONS of archive-one.sh]

Dask hands out the work and no more: each task is one report, which archive-one.sh
archives on the worker that gets it. A task whose worker dies is given to another.
TREE, OUT and this folder are on a file system that all workers see; the commands are
where HOSTBOUND_BIN says, or on PATH, or built once by Go.

    --scheduler ADDRESS   such as tcp://node1:8786, or file:scheduler.json
                          (default: $DASK_SCHEDULER_ADDRESS, else processes here)

Give workers one thread for each two processors, and 512 MiB for each thread:

    dask-worker --nthreads 4 --memory-limit 0 tcp://node1:8786

At the end the failures are listed with their reasons. Exit status: 0 all done,
2 some failed.
"""

import os
import subprocess
import sys

import archive_units


def archive(command, env, name):
    """Archives one report where this runs; returns the line that says what became of it."""
    done = subprocess.run(command, env=env, input=name + "\n", capture_output=True, text=True)
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != 1:
        raise RuntimeError(f"archive-one.sh ended with status {done.returncode}: {done.stderr.strip()}")
    return lines[0]


def main(args):
    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    if args[:1] == ["--scheduler"]:
        address, args = args[1], args[2:]
    tree, out, options, reports = archive_units.arguments(args, __doc__, "archive_dask")

    from distributed import Client, as_completed  # here, so that usage can be had without it

    if address and address.startswith("file:"):
        client = Client(scheduler_file=address[len("file:"):])
    else:
        client = Client(address) if address else Client(processes=True, threads_per_worker=1)
    with client:
        command, env = archive_units.command(tree, out, options), archive_units.environment()
        futures = {client.submit(archive, command, env, name, pure=False): name for name in reports}
        lines = []
        for future in as_completed(futures):
            name = futures[future]
            if future.status == "finished":
                lines.append(future.result())
            else:  # it failed in itself, or several workers died of it
                lines.append(f"failed\t{name}\t{' '.join(str(future.exception()).split())}")
            outcome = lines[-1].split("\t")[0]
            print(f"archive: {len(lines)} of {len(reports)}: {outcome} {name}", file=sys.stderr)
    return archive_units.finish(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
