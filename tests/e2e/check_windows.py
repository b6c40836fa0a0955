"""check_windows.py GNOMON TRIALS RUN...: of runs with traces, windows are chosen as a run without one would have kept them,
and what explain says by them is held against what it says by the whole trace. The interval, one of 95 %, has to hold what
was waited in truth in 85 % of the trials of all runs at least: those of one run share its rare long waits. The estimate may
be off by a fifth in the median."""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys

gnomon, trials, runs = sys.argv[1], int(sys.argv[2]), sys.argv[3:]


def seen(folder):
    out = subprocess.run([gnomon, "explain", "--format", "json", folder], capture_output=True, text=True, check=True).stdout
    return json.loads(out)["seen"]


def begin_and_end(run):
    """Ticks, between the last end of MPI_Init and the first begin of MPI_Finalize; on several hosts those of rank 0, on whose
    counter windows are."""
    events = subprocess.run([gnomon, "export", "--to", "csv", run], capture_output=True, text=True, check=True).stdout
    rows = [line.split(",") for line in events.splitlines()[1:]]
    with sqlite3.connect(os.path.join(run, "profile.db")) as db:
        if db.execute("SELECT count(*) FROM host").fetchone()[0] > 1:
            rows = [row for row in rows if row[3] == "0"]
    db.close()
    return (max(int(row[1]) for row in rows if row[5] == "leave" and row[6].startswith("MPI_Init")),
            min(int(row[1]) for row in rows if row[5] == "enter" and row[6] == "MPI_Finalize"))


def schedule(begin, end, count):
    """As the agent has it: of about one length, the gaps at random, and twice as long in the end as in the beginning."""
    length = (end - begin) / (10 * count)
    at, windows = begin, []
    while at + length < end:
        windows.append((at, length))
        at += length + 6 * length * (1 + (at - begin) / (end - begin)) * random.uniform(0.5, 1.5)
    return windows


def few_and_long(begin, end):
    """Of a program that makes few calls: each is a good part of the run, and they are unlike each other."""
    at, windows = begin, []
    while at < end:
        length = (end - begin) * random.uniform(0.04, 0.4)
        windows.append((at, min(length, end - at)))
        at += length + (end - begin) * random.uniform(0.02, 0.3)
    return windows


def try_windows(run, trial, begin, end):
    random.seed(trial)
    windows = schedule(begin, end, random.choice((8, 15, 30))) if trial % 2 else few_and_long(begin, end)
    spans = " ".join(f"{int(at)} {int(at + length)}" for at, length in windows)
    shutil.rmtree("windowed", ignore_errors=True)
    os.makedirs("windowed")
    shutil.copy(os.path.join(run, "profile.db"), "windowed/profile.db")
    os.symlink(os.path.abspath(os.path.join(run, "trace")), "windowed/windows")
    with sqlite3.connect("windowed/profile.db") as db:
        db.execute("DELETE FROM run WHERE key GLOB 'trace/*' OR key GLOB 'windows/*'")
        host = "all" if db.execute("SELECT count(*) FROM host").fetchone()[0] > 1 else "here"
        db.execute(f"INSERT INTO run VALUES('windows/{host}/path', 'windows'), ('windows/{host}/spans', ?)", (spans,))
    db.close()
    return seen("windowed")["waited_s"]


held, off, widths = 0, [], []
for run in runs:
    truth = seen(run)["waited_s"]
    begin, end = begin_and_end(run)
    before = held
    for trial in range(trials):
        waited = try_windows(run, trial, begin, end)
        held += waited["low"] <= truth["high"] and waited["high"] >= truth["low"]
        off.append(abs(waited["estimate"] / truth["low"] - 1))
        widths.append((waited["high"] - waited["low"]) / truth["low"])
    print(f"{held - before} of {trials} intervals hold {truth['low']:.4f} s")
off.sort()
print(f"the estimate is {off[len(off) // 2]:.3f} off in the median; "
      f"intervals are {sorted(widths[::2])[len(widths) // 4]:.2f} (few and long), "
      f"{sorted(widths[1::2])[len(widths) // 4]:.2f} of it wide")
assert held >= 0.85 * len(off) and off[len(off) // 2] <= 0.2
