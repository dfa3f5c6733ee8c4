"""A toy serving loop: requests come, are batched, and give one token per step.

It stands for an engine in the test of scripts/optimize.sh. Three things in it are a
waste of time; changes.py takes them out one by one.
"""

import json
import zlib


class Request:
    def __init__(self, request_id, prompt_length, output_length):
        self.request_id = request_id
        self.tokens = list(range(prompt_length))
        self.remaining = output_length
        self.slot = request_id % 256
        self.history = {}


class Engine:
    def __init__(self, batch_size=160, prompt_length=128):
        self.waiting = []
        self.running = []
        self.batch_size = batch_size
        self.prompt_length = prompt_length
        self.weights = bytes(range(256)) * 512
        self.stop_tokens = list(range(50_000, 50_300))
        self.debug = False
        self.log = []
        self.generated = 0

    def submit(self, count, output_length):
        for i in range(count):
            self.waiting.append(Request(i, self.prompt_length, output_length + i % 7))

    def schedule(self):
        while self.waiting and len(self.running) < self.batch_size:
            self.running.append(self.waiting.pop())
        return self.running

    def prepare_inputs(self, requests):
        dump = json.dumps([request.tokens for request in requests])
        if self.debug:
            self.log.append(dump)
        lengths = []
        for request in requests:
            lengths.append(len(request.tokens))
        positions = []
        for request in requests:
            positions.append(len(request.tokens) - 1)
        last_tokens = []
        for request in requests:
            last_tokens.append(request.tokens[-1])
        slots = []
        for request in requests:
            slots.append(request.slot)
        request_ids = []
        for request in requests:
            request_ids.append(request.request_id)
        budgets = []
        for request in requests:
            budgets.append(request.remaining)
        return {"lengths": lengths, "positions": positions, "last_tokens": last_tokens,
                "slots": slots, "request_ids": request_ids, "budgets": budgets}

    def forward(self, lengths, last_tokens):
        return [zlib.crc32(self.weights[:512 + n], t) % 50_000 for n, t in zip(lengths, last_tokens)]

    def update(self, requests, tokens):
        for request, token in zip(requests, tokens):
            request.tokens.append(token)
            request.remaining -= 1
            if token in self.stop_tokens:
                request.remaining = 0
        self.generated += len(requests)
        self.running = [request for request in requests if request.remaining > 0]

    def step(self):
        requests = self.schedule()
        inputs = self.prepare_inputs(requests)
        tokens = self.forward(inputs["lengths"], inputs["last_tokens"])
        self.update(requests, tokens)

    def run(self):
        while self.waiting or self.running:
            self.step()
        return self.generated
