#!/usr/bin/env python3
"""Grade what an agent answered on the fixtures, with the skill and without it.

    grade.py TRANSCRIPT.jsonl [OTHER.jsonl …]     a row for each transcript
    grade.py --make DIR [--seed N]                 write the traces, and questions.jsonl
    grade.py --check DIR [--seed N]                run the fixtures' own commands on them

A transcript has a line of JSON for each fixture:

    {"fixture": "prep_slow", "answer": "…", "tokens": 5600, "commands": 3}

`answer` is the agent's last message. It is right where it names the cause, as the
fixture's `expect` does. `tokens` and `commands` may be left out.

Exit status: 0 graded; with --check 1 where fewer than nine tenths are right; 2 bad usage.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def fixtures():
    with open(os.path.join(HERE, "fixtures.json"), encoding="utf-8") as file:
        return json.load(file)


def names(directory, fixture, seed):
    """Return what stands for the placeholders of a fixture's commands."""
    base = os.path.join(directory, fixture["id"])
    return {"t": base + ".sqlite", "a": base + ".a.sqlite", "b": base + ".b.sqlite", "seed": str(seed)}


def fill(words, values):
    return [re.sub(r"\{(t|a|b|seed)\}", lambda m: values[m[1]], word) for word in words]


def make(directory, seed):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "questions.jsonl"), "w", encoding="utf-8") as questions:
        for fixture in fixtures():
            values = names(directory, fixture, seed)
            for command in fixture["make"]:
                subprocess.run(fill(command, values), check=True, stderr=subprocess.DEVNULL)
            traces = [v for k, v in values.items() if k != "seed" and os.path.exists(v)]
            questions.write(json.dumps({"fixture": fixture["id"], "question": fixture["question"], "traces": traces}) + "\n")


def right(fixture, text):
    return re.search(fixture["expect"], text, re.IGNORECASE | re.MULTILINE) is not None


def brief(fixture, values):
    """Return the part of the brief answer that must name the cause."""
    out = subprocess.run(fill(shlex.split(fixture["command"]), values), check=True, capture_output=True).stdout
    answer = json.loads(out)
    of = fixture.get("of", "item")
    if of != "item":
        return answer[of], out
    return json.dumps(answer["items"][:1], ensure_ascii=False), out


def check(directory, seed):
    wrong = 0
    for fixture in fixtures():
        text, out = brief(fixture, names(directory, fixture, seed))
        if not right(fixture, text) or len(out) > 2049:
            wrong += 1
            print(f"{fixture['id']}: {fixture['cause']}; {len(out)} bytes: {text}")
    total = len(fixtures())
    print(f"{total - wrong} of {total} right")
    return 1 if wrong > total // 10 else 0


def grade(paths):
    known = {f["id"]: f for f in fixtures()}
    print("transcript\tright\tanswered\tfixtures\ttokens\tcommands")
    for path in paths:
        with open(path, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file if line.strip()]
        for row in rows:
            if row["fixture"] not in known:
                sys.exit(f"grade: error: {path}: no fixture {row['fixture']!r}")
        total = {key: sum(row.get(key, 0) for row in rows) for key in ("tokens", "commands")}
        good = sum(right(known[row["fixture"]], row["answer"]) for row in rows)
        print(f"{os.path.basename(path)}\t{good}\t{len(rows)}\t{len(known)}\t{total['tokens']}\t{total['commands']}")
    return 0


def main(arguments):
    parser = argparse.ArgumentParser(prog="grade", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make", metavar="DIR")
    parser.add_argument("--check", metavar="DIR")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("transcripts", nargs="*")
    options = parser.parse_args(arguments)
    if options.make:
        make(options.make, options.seed)
    if options.check:
        return check(options.check, options.seed)
    if not options.transcripts and not options.make:
        parser.error("give a transcript, --make or --check")
    return grade(options.transcripts) if options.transcripts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
