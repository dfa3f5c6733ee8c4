#!/usr/bin/env python3
"""Archives a tree of nsys reports as a Spark job.

    spark-submit scripts/archive_spark.py TREE OUT [OPTIONS of archive-one.sh]

Spark hands out the work and no more: RDD.pipe() runs archive-one.sh on the
executors, which reads names of reports from its standard input and writes a line
for each. The rows never pass through the JVM. TREE, OUT and this folder are on a
file system that all executors see; the commands are where HOSTBOUND_BIN says, or
on PATH, or built once by Go.

At the end the failures are listed with their reasons. Exit status: 0 all done,
2 some failed.
"""

import os
import shlex
import subprocess
import sys


def command(scripts, tree, out, options):
    """Returns the command that RDD.pipe() runs for each partition."""
    return shlex.join([os.path.join(scripts, "archive-one.sh"), *options, "--tree", tree, "-", out])


def summary(lines):
    """Splits the lines that archive-one.sh writes into counts and failures."""
    counts, failures = {"ok": 0, "kept": 0, "failed": 0}, []
    for line in lines:
        outcome, name, *reason = line.split("\t", 2)
        counts[outcome] += 1
        if outcome == "failed":
            failures.append(f"{name}: {reason[0] if reason else 'killed'}")
    return counts, sorted(failures)


def main(args):
    if len(args) < 2:
        sys.exit(__doc__)
    tree, out, *options = args
    scripts = os.path.dirname(os.path.abspath(__file__))
    tree, out = os.path.abspath(tree), os.path.abspath(out)
    runs = ["--runs"] if "--runs" in options else []
    options = [o for o in options if o != "--runs"]
    listing = subprocess.run([os.path.join(scripts, "archive.sh"), "--list", *runs, tree],
                             check=True, capture_output=True, text=True)
    reports = listing.stdout.splitlines()
    if not reports:
        sys.exit(f"archive_spark: error: {tree}: no reports in it")

    from pyspark.sql import SparkSession  # here, so that the functions above can be tested without it

    spark = SparkSession.builder.appName("hostbound").getOrCreate()
    env = {k: os.environ[k] for k in ("HOSTBOUND_BIN", "PATH", "HOME") if k in os.environ}
    # A partition a report: one that is slow or bad holds up no other.
    lines = (spark.sparkContext.parallelize(reports, len(reports))
             .pipe(command(scripts, tree, out, options), env=env, checkCode=True).collect())
    spark.stop()
    counts, failures = summary(lines)
    print(f"archive: {len(reports)} reports: {counts['ok']} done, {counts['kept']} kept, {counts['failed']} failed")
    for failure in failures:
        print("archive: failed:", failure, file=sys.stderr)
    return 2 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
