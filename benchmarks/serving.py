"""A server under load: python benchmarks/serving.py --home HOME [--clients 64] [--seconds 20]

Clients on loopback search and look inside, a bounded number of them at once, first alone and then while an index
run embeds. Figures are of what a client waits; memory is the server's own. Queries are made of titles of the index.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, perf_counter

import httpx2

SHARES = {"search": 70, "search page 3": 10, "text search": 8, "inspect query": 6, "inspect chunks": 3, "neighbours": 3}

Notes = list[tuple[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    command = [sys.executable, "-c", "from cutaway.faces.cli.main import run; run()", "serve", "--port", "0"]
    server = subprocess.Popen([*command, "--home", str(options.home)], stderr=subprocess.PIPE, text=True)
    assert server.stderr
    address = server.stderr.readline().split()[1]
    drain = ThreadPoolExecutor(1)
    drain.submit(lambda: [None for _ in server.stderr or ()])
    try:
        limits = httpx2.Limits(max_connections=options.clients)
        with httpx2.Client(base_url=f"{address}/api/v1", timeout=120, limits=limits) as client:
            while True:
                try:
                    client.get("health")
                    break
                except httpx2.ConnectError:
                    continue
            notes = notes_of(client)
            asked(client, "search", notes)  # models are loaded now
            for clients in (1, options.clients):
                report(f"{clients} clients", client, notes, clients, options.seconds, server.pid)
            client.post("index/runs", json={})
            report(f"{options.clients} clients, indexing", client, notes, options.clients, options.seconds, server.pid)
            print("run:", client.get("index/runs").json()["runs"][0]["state"])
    finally:
        server.terminate()
        print("exit code", server.wait(60))


def notes_of(client: httpx2.Client) -> Notes:
    """Notes to ask for: their titles, and the names that no other note has."""
    wanted = {"query": "the note of a list", "all_projects": True, "limit": 500}
    hits = client.post("search", json=wanted).json()["hits"]
    return [(hit["title"], f"{hit['project']}:{hit['path']}") for hit in hits if hit["title"].strip()]


def asked(client: httpx2.Client, kind: str, notes: Notes) -> int:
    """One request of a kind; its status."""
    (title, name), (other, _) = random.choice(notes), random.choice(notes)
    query = {"query": f"{title} {other.split()[0]}", "all_projects": True, "literal": True}
    ask: dict[str, Callable[[], httpx2.Response]] = {
        "search": lambda: client.post("search", json=query),
        "search page 3": lambda: client.post("search", json={**query, "page": 3}),
        "text search": lambda: client.post("search", json={**query, "mode": "text"}),
        "inspect query": lambda: client.post("inspect/query", json=query),
        "inspect chunks": lambda: client.get("inspect/chunks", params={"note": name, "all_projects": True}),
        "neighbours": lambda: client.post("inspect/neighbors", json={"target": name, "all_projects": True}),
    }
    answer = ask[kind]()
    if answer.is_error:
        print("refused:", kind, query["query"], name, answer.text, file=sys.stderr)
    return answer.status_code


def report(
    name: str, client: httpx2.Client, notes: list[tuple[str, str]], clients: int, seconds: float, pid: int
) -> None:
    """Ask for so long, and print what it was like."""
    until, took, statuses = monotonic() + seconds, defaultdict[str, list[float]](list), defaultdict[int, int](int)

    def loop(seed: int) -> None:
        chance = random.Random(seed)
        while monotonic() < until:
            kind = chance.choices([*SHARES], [*SHARES.values()])[0]
            start = perf_counter()
            statuses[asked(client, kind, notes)] += 1
            took[kind].append(perf_counter() - start)

    before = memory(pid)
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(loop, range(clients)))
    every = sorted(value for values in took.values() for value in values)
    print(f"{name}: {len(every)} requests, {len(every) / seconds:.0f} a second, statuses {dict(statuses)}")
    for kind, values in (("all", every), *took.items()):
        if len(values) > 1:
            cuts = statistics.quantiles(values, n=100)
            p50, p95, p99 = (1000 * cuts[place] for place in (49, 94, 98))
            print(f"  {kind:<15} {len(values):>6}   p50 {p50:7.0f}  p95 {p95:7.0f}  p99 {p99:7.0f} ms")
    print(f"  memory {before:.0f} → {memory(pid):.0f} MB")


def memory(pid: int) -> float:
    """Resident, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
