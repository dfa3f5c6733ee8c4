"""What archive_spark.py and archive_dask.py share: the units of work and the end."""

import os
import subprocess
import sys

SCRIPTS = os.path.dirname(os.path.abspath(__file__))


def arguments(args, doc, name):
    """Returns the tree, the archive, the options and the reports of a command line, or ends."""
    if len(args) < 2:
        sys.exit(doc)
    tree, out, *options = args
    tree, out = os.path.abspath(tree), os.path.abspath(out)
    reports = units(tree, options)
    if not reports:
        sys.exit(f"{name}: error: {tree}: no reports in it")
    return tree, out, options, reports


def units(tree, options):
    """Returns the reports of a tree, or with --runs its directories of reports."""
    runs = ["--runs"] if "--runs" in options else []
    listing = subprocess.run([os.path.join(SCRIPTS, "archive.sh"), "--list", *runs, tree],
                             check=True, capture_output=True, text=True)
    return listing.stdout.splitlines()


def command(tree, out, options):
    """Returns the command that reads names of units and writes a line for each."""
    options = [o for o in options if o != "--runs"]
    return [os.path.join(SCRIPTS, "archive-one.sh"), *options, "--tree", tree, "-", out]


def environment():
    """Returns the variables that the command needs, wherever it runs."""
    return {k: os.environ[k] for k in ("HOSTBOUND_BIN", "PATH", "HOME") if k in os.environ}


def finish(lines):
    """Prints what became of all units, of the lines that the command wrote; returns the status."""
    counts, failures = {"ok": 0, "kept": 0, "failed": 0}, []
    for line in lines:
        outcome, name, *reason = line.split("\t", 2)
        counts[outcome] += 1
        if outcome == "failed":
            failures.append(f"{name}: {reason[0] if reason else 'killed'}")
    print(f"archive: {sum(counts.values())} reports: {counts['ok']} done, {counts['kept']} kept, {counts['failed']} failed")
    for failure in sorted(failures):
        print("archive: failed:", failure, file=sys.stderr)
    return 2 if failures else 0
