"""The frontend of a toy engine: it asks its worker, another process, for steps.

`frontend.py MODULE` takes TOY_STEPS steps, and checks what comes back.
"""

import importlib
import multiprocessing
import os
import sys

sys.dont_write_bytecode = True  # a change within a second must count


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


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    if len(set(serve(sys.argv[1], int(os.environ.get("TOY_STEPS", "10"))))) != 1:
        sys.exit("steps differ in their answers")
