"""check_joined.py GNOMON RUN: of a traced run the analyses of windows, one after the other, are what they are of each window by
itself, as a part of the trace: for whom each rank waits, and for how long."""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys

gnomon, run = sys.argv[1:]


def ask(command, place, *options):
    done = subprocess.run([gnomon, command, "--format", "json", *options, place], capture_output=True, text=True)
    if done.returncode == 2 and "no events in that part" in done.stderr:  # not a call was left in it
        return {"stragglers": []}
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ticks_of_run():
    """When MPI_Init ends, MPI_Finalize begins, and all ends; and how many are a second."""
    events = subprocess.run([gnomon, "export", "--to", "csv", run], capture_output=True, text=True, check=True).stdout
    rows = [line.split(",") for line in events.splitlines()[1:]]
    with sqlite3.connect(os.path.join(run, "profile.db")) as db:
        hz = db.execute("SELECT 1e9 / max(tick_ns) FROM process").fetchone()[0]
    db.close()
    return (max(int(row[1]) for row in rows if row[5] == "leave" and row[6].startswith("MPI_Init")),
            min(int(row[1]) for row in rows if row[5] == "enter" and row[6] == "MPI_Finalize"),
            max(int(row[1]) for row in rows), hz)


def with_windows(windows):
    shutil.rmtree("joined", ignore_errors=True)
    os.makedirs("joined")
    shutil.copy(os.path.join(run, "profile.db"), "joined/profile.db")
    os.symlink(os.path.abspath(os.path.join(run, "trace")), "joined/windows")
    with sqlite3.connect("joined/profile.db") as db:
        db.execute("DELETE FROM run WHERE key GLOB 'trace/*' OR key GLOB 'windows/*'")
        db.execute("INSERT INTO run VALUES('windows/here/path', 'windows'), ('windows/here/spans', ?)",
                   (" ".join(f"{a} {b}" for a, b in windows),))
    db.close()
    return "joined"


def sums(answer):
    return {rank["name"]: [(rank[what]["lo"] + rank[what]["hi"]) / 2 for what in ("caused_s", "waited_s")]
            for rank in answer["stragglers"]}


first, finalize, last, hz = ticks_of_run()
zero = last - ask("stragglers", run, "--between", "0,")["between"]["run_s"] * hz
random.seed(5)
for _ in range(8):
    ends = sorted(random.sample(range(first, finalize), 2 * random.randrange(2, 7)))
    windows = list(zip(ends[::2], ends[1::2]))
    place = with_windows(windows)
    joined = ask("stragglers", place)
    seen_s = sum(b - a for a, b in windows) / hz
    assert joined["seen"]["windows"] == len(windows), joined["seen"]
    assert abs(joined["length_s"]["lo"] - seen_s) < 0.01 + 0.01 * seen_s, (joined["length_s"], seen_s)
    apart = {}
    for a, b in windows:
        part = f"{(a - zero) / hz:.9f},{(b - zero) / hz:.9f}"
        for rank, values in sums(ask("stragglers", run, "--between", part)).items():
            apart[rank] = [x + y for x, y in zip(apart.get(rank, (0, 0)), values)]
    for rank, values in sums(joined).items():
        for value, expected in zip(values, apart.get(rank, (0, 0))):
            # what is waited over an end of a window is cut off here; a step of exchange.c is some ms at most
            assert abs(value - expected) < 0.03 * expected + 0.006 * len(windows), (rank, values, apart, windows)
    for command in ("critical", "frames", "whatif"):
        assert ask(command, place)["seen"] == joined["seen"]
print("8 choices of windows")
