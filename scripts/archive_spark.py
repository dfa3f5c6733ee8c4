#!/usr/bin/env python3
"""Archives a tree of nsys reports as a Spark job.

    spark-submit --py-files scripts/archive_units.py scripts/archive_spark.py TREE OUT [OPTIONS of archive-one.sh]

Spark hands out the work and no more: RDD.pipe() runs archive-one.sh on the
executors, which reads names of reports from its standard input and writes a line
for each. The rows never pass through the JVM. TREE, OUT and this folder are on a
file system that all executors see; the commands are where HOSTBOUND_BIN says, or
on PATH, or built once by Go.

Not run on Spark itself by its authors: the tests have a stand-in for RDD.pipe().

At the end the failures are listed with their reasons. Exit status: 0 all done,
2 some failed.
"""

import shlex
import sys

import archive_units


def main(args):
    tree, out, options, reports = archive_units.arguments(args, __doc__, "archive_spark")

    from pyspark.sql import SparkSession  # here, so that usage can be had without it

    spark = SparkSession.builder.appName("hostbound").getOrCreate()
    # A partition a report: one that is slow or bad holds up no other.
    lines = (spark.sparkContext.parallelize(reports, len(reports))
             .pipe(shlex.join(archive_units.command(tree, out, options)),
                   env=archive_units.environment(), checkCode=True).collect())
    spark.stop()
    return archive_units.finish(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
