"""The frontend of a toy engine: it asks its worker, another process, for steps.

`frontend.py MODULE run` takes TOY_STEPS steps; `frontend.py MODULE test` checks what comes
back; `frontend.py FILE change N` makes change number N to the worker, and prints its name.
"""

import importlib
import multiprocessing
import os
import sys

sys.dont_write_bytecode = True  # a change within a second must count

CHANGES = [
    ("no_dump", "        dump = json.dumps(self.states)\n        if self.debug:\n            self.log.append(dump)\n", ""),
    ("no_snapshot", "        snapshot = pickle.dumps(self.tables)\n        if self.debug:\n            self.log.append(snapshot)\n", ""),
    ("done_set", "self.done = [100_000 + i for i in range(500)]", "self.done = {100_000 + i for i in range(500)}"),
]


def serve(module, steps):
    orders, take = multiprocessing.Pipe()
    answers, give = multiprocessing.Pipe()
    worker = multiprocessing.Process(target=importlib.import_module(module).work, args=(take, give))
    worker.start()
    results = []
    for _ in range(steps):
        orders.send(True)
        results.append(answers.recv())
    orders.send(False)
    worker.join()
    return results


def change(path, number):
    if int(number) > len(CHANGES):
        sys.exit(3)
    name, old, new = CHANGES[int(number) - 1]
    with open(path) as f:
        text = f.read()
    if text.count(old) != 1:
        sys.exit(f"{path}: not the code that {name} changes")
    with open(path, "w") as f:
        f.write(text.replace(old, new))
    print(name)


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    if sys.argv[2] == "change":
        change(sys.argv[1], sys.argv[3])
    elif len(set(serve(sys.argv[1], int(os.environ.get("TOY_STEPS", "10"))))) != 1:
        sys.exit("steps differ in their answers")
