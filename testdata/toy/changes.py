"""Takes the wastes out of a copy of engine.py or worker.py: `changes.py engine FILE ROUND` makes
the change of that round and prints its name; with status 3 where there is none left."""

import sys

ENGINE = [
    ("no_dump",
     "        dump = json.dumps([request.tokens for request in requests])\n"
     "        if self.debug:\n"
     "            self.log.append(dump)\n",
     "        if self.debug:\n"
     "            self.log.append(json.dumps([request.tokens for request in requests]))\n"),
    ("stop_set",
     "self.stop_tokens = list(range(50_000, 50_300))",
     "self.stop_tokens = frozenset(range(50_000, 50_300))"),
    ("one_loop",
     '        lengths = []\n'
     '        for request in requests:\n'
     '            lengths.append(len(request.tokens))\n'
     '        positions = []\n'
     '        for request in requests:\n'
     '            positions.append(len(request.tokens) - 1)\n'
     '        last_tokens = []\n'
     '        for request in requests:\n'
     '            last_tokens.append(request.tokens[-1])\n'
     '        slots = []\n'
     '        for request in requests:\n'
     '            slots.append(request.slot)\n'
     '        request_ids = []\n'
     '        for request in requests:\n'
     '            request_ids.append(request.request_id)\n'
     '        budgets = []\n'
     '        for request in requests:\n'
     '            budgets.append(request.remaining)\n'
     '        return {"lengths": lengths, "positions": positions, "last_tokens": last_tokens,\n'
     '                "slots": slots, "request_ids": request_ids, "budgets": budgets}\n',
     '        lengths, last_tokens = [], []\n'
     '        for request in requests:\n'
     '            tokens = request.tokens\n'
     '            lengths.append(len(tokens))\n'
     '            last_tokens.append(tokens[-1])\n'
     '        return {"lengths": lengths, "last_tokens": last_tokens}\n'),
]

WORKER = [
    ("no_dump", "        dump = json.dumps(self.states)\n        if self.debug:\n            self.log.append(dump)\n", ""),
    ("no_snapshot", "        snapshot = pickle.dumps(self.tables)\n        if self.debug:\n            self.log.append(snapshot)\n", ""),
    ("done_set", "self.done = [100_000 + i for i in range(500)]", "self.done = {100_000 + i for i in range(500)}"),
]


def main(engine, path, number):
    changes = {"engine": ENGINE, "worker": WORKER}[engine]
    if int(number) > len(changes):
        sys.exit(3)
    name, old, new = changes[int(number) - 1]
    with open(path) as f:
        text = f.read()
    if text.count(old) != 1:
        sys.exit(f"{path}: not the code that {name} changes")
    with open(path, "w") as f:
        f.write(text.replace(old, new))
    print(name)


main(*sys.argv[1:])
