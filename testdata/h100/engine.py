# A decode loop with a known stall. usage: engine.py MODE OUT.json [torch TRACE.json]
import sys, os, time, json, gc, threading, socket, multiprocessing as mp
mode, out = sys.argv[1], sys.argv[2]
prof = sys.argv[4] if len(sys.argv) > 4 else None
STEPS, LAYERS, H, B = (60, 8, 4096, 64) if mode == "clean" else (60, 8, 1024, 16)
truth = []
def mark(kind, t0, extra=None):
    t1 = time.time_ns(); truth.append({"kind": kind, "t0": t0, "t1": t1, "mono1": time.monotonic_ns(), "extra": extra})

def neighbour(cpu):
    os.sched_setaffinity(0, {cpu})
    while True: pass
def answerer(conn):
    while True:
        m = conn.recv_bytes()
        if m == b"end": return
        time.sleep(0.002); conn.send_bytes(b"x" * 100)

def main():
    children = []
    if mode == "poll":
        a, b = mp.Pipe(); p = mp.Process(target=answerer, args=(b,), daemon=True); p.start(); children.append(p)
    if mode == "neighbour":
        p = mp.Process(target=neighbour, args=(3,), daemon=True); p.start(); children.append(p)
    import torch, numpy as np
    from torch.profiler import profile, ProfilerActivity, record_function
    torch.manual_seed(0); dev = "cuda"
    class R:
        def __init__(s, n): s.n = n
        def __enter__(s):
            torch.cuda.nvtx.range_push(s.n); s.r = record_function(s.n); s.r.__enter__()
        def __exit__(s, *a):
            s.r.__exit__(*a); torch.cuda.nvtx.range_pop()
    W = [[(torch.randn(H, H, device=dev, dtype=torch.bfloat16) * 0.02) for _ in range(4)] for _ in range(LAYERS)]
    head = torch.randn(H, 32000, device=dev, dtype=torch.bfloat16) * 0.02
    emb = torch.randn(32000, H, device=dev, dtype=torch.bfloat16)
    kv = torch.randn(LAYERS, B, 256, H, device=dev, dtype=torch.bfloat16) * 0.02
    ids = torch.zeros(B, dtype=torch.long, device=dev)
    eager = mode in ("eager", "sync_layer", "pageable")
    host_in = torch.zeros(B, dtype=torch.long)  # pageable
    big = torch.zeros(1 << 18)                  # pageable, 1 MiB
    bigd = torch.zeros(1 << 18, device=dev)
    def forward(x):
        h = emb[x]
        for l in range(LAYERS):
            if mode == "pageable": bigd.copy_(big)
            n = torch.nn.functional.rms_norm(h, (H,))
            q, k = n @ W[l][0], n @ W[l][1]
            att = torch.softmax((q.unsqueeze(1) @ kv[l].transpose(1, 2)) * 0.03, -1) @ kv[l]
            h = h + att.squeeze(1) @ W[l][2]
            h = h + torch.nn.functional.silu(torch.nn.functional.rms_norm(h, (H,)) @ W[l][3])
            if mode == "sync_layer":
                t0 = time.time_ns(); torch.cuda.synchronize(); mark("sync", t0, l)
        return h @ head
    g = None; static_out = None
    with torch.no_grad():
        for _ in range(3): logits = forward(ids)
        torch.cuda.synchronize()
        if not eager:
            g = torch.cuda.CUDAGraph()
            s = torch.cuda.Stream(); s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                for _ in range(2): forward(ids)
            torch.cuda.current_stream().wait_stream(s)
            with torch.cuda.graph(g): static_out = forward(ids)
    lock = threading.Lock(); go = threading.Event(); held = threading.Event(); stop = []
    def holder():
        while not stop:
            go.wait(); go.clear()
            if stop: return
            with lock:
                held.set(); time.sleep(0.002)
    def cruncher():
        s = 0
        while not stop:
            for i in range(2000): s += i * i
    threads = []
    if mode == "lock": threads.append(threading.Thread(target=holder, name="kv-manager", daemon=True))
    if mode == "gil": threads.append(threading.Thread(target=cruncher, name="detokenizer", daemon=True))
    for t in threads: t.start()
    if mode == "neighbour": os.sched_setaffinity(0, {3})
    gc.disable()
    jit = None
    rng = np.random.default_rng(0)
    def prepare(i):
        host_in.copy_(torch.from_numpy(rng.integers(0, 32000, B)))
        if mode == "sleep":
            t0 = time.time_ns(); time.sleep(0.003); mark("sleep", t0)
        if mode == "lock":
            held.clear(); go.set(); held.wait()
            t0 = time.time_ns()
            with lock: pass
            mark("lock", t0)
        if mode == "gc" and i % 5 == 2:
            j = []
            for _ in range(40000):
                d = {}; d["self"] = d; j.append(d)
            del j
            t0 = time.time_ns(); gc.collect(); mark("gc", t0)
        if mode == "fsync":
            t0 = time.time_ns()
            with open("/tmp/fsync.bin", "wb") as f:
                f.write(b"x" * (1 << 20)); f.flush(); os.fsync(f.fileno())
            mark("fsync", t0)
        if mode == "poll":
            t0 = time.time_ns(); a.send_bytes(b"q"); a.recv_bytes(); mark("poll", t0)
        mode == "clean" or ids.copy_(host_in, non_blocking=True)
    def step(i):
        t0 = time.time_ns()
        with R("[Executor] _forward_step %d: 0 ctx reqs, 0 ctx tkns, %d gen reqs" % (i, B)):
            with R("_prepare_inputs"): prepare(i)
            with R("forward"):
                logits = forward(ids) if eager else (g.replay(), static_out)[1]
                if mode == "jit" and i == 40:
                    t1 = time.time_ns()
                    f = torch.compile(lambda z: torch.tanh(z.float()) * 2 + torch.exp(-z.float()) * 0.1)
                    f(logits); mark("jit", t1)
            with R("sample"):
                nxt = logits.argmax(-1)
                t1 = time.time_ns(); mode == "clean" or nxt.cpu(); mark("item", t1)
            with R("update_requests"):
                z = {k: [int(k)] * 10 for k in range(300)}
        mark("step", t0, i)
    def run(n, first=0):
        with torch.no_grad():
            for i in range(first, n): step(i)
    save = mode; run(3)
    truth.clear(); torch.cuda.synchronize()
    if prof:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=os.environ.get("STACK") == "1") as p:
            run(STEPS); torch.cuda.synchronize()
        p.export_chrome_trace(prof)
    else:
        torch.cuda.cudart().cudaProfilerStart(); run(STEPS); torch.cuda.synchronize(); torch.cuda.cudart().cudaProfilerStop()
    json.dump({"mode": mode, "steps": STEPS, "truth": truth}, open(out, "w"))
    stop.append(1); go.set()
    for p in children: p.kill()
if __name__ == "__main__":
    main()
