"""check_windows.py GNOMON RUN TRIALS: of a run with a trace, windows are chosen at random as a run without one would have
kept them, and what explain says by them is held against what it says by the whole trace. The interval, one of
95 %, has to hold what was waited in truth in 85 % of the trials at least: all are of one run, and share its rare long
waits. Its middle may be off by a fifth in the median."""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys

gnomon, run, trials = sys.argv[1], sys.argv[2], int(sys.argv[3])


def seen(folder):
    out = subprocess.run([gnomon, "explain", "--format", "json", folder], capture_output=True, text=True, check=True).stdout
    return json.loads(out)["seen"]


events = subprocess.run([gnomon, "export", "--to", "csv", run], capture_output=True, text=True, check=True).stdout
rows = [line.split(",") for line in events.splitlines()[1:]]
begin = max(int(row[1]) for row in rows if row[5] == "leave" and row[6].startswith("MPI_Init"))
end = min(int(row[1]) for row in rows if row[5] == "enter" and row[6] == "MPI_Finalize")
truth = seen(run)["waited_s"]

os.makedirs("windowed")
shutil.copy(os.path.join(run, "profile.db"), "windowed/profile.db")
os.symlink(os.path.abspath(os.path.join(run, "trace")), "windowed/windows")


def schedule(count):
    """As the agent has it: of about one length, the gaps at random, and twice as long in the end as in the beginning."""
    length = (end - begin) / (10 * count)
    at, windows = begin, []
    while at + length < end:
        windows.append((at, length))
        at += length + 6 * length * (1 + (at - begin) / (end - begin)) * random.uniform(0.5, 1.5)
    return windows


held, off = 0, []
for trial in range(trials):
    random.seed(trial)
    spans = " ".join(f"{int(at)} {int(at + length)}" for at, length in schedule(random.choice((8, 15, 30))))
    with sqlite3.connect("windowed/profile.db") as db:
        db.execute("DELETE FROM run WHERE key GLOB 'trace/*' OR key GLOB 'windows/*'")
        db.execute("INSERT INTO run VALUES('windows/here/path', 'windows'), ('windows/here/spans', ?)", (spans,))
    db.close()
    waited = seen("windowed")["waited_s"]
    held += waited["low"] <= truth["high"] and waited["high"] >= truth["low"]
    off.append(abs((waited["low"] + waited["high"]) / 2 / truth["low"] - 1))
off.sort()
print(f"{held} of {trials} intervals hold {truth['low']:.4f} s; the middle is {off[trials // 2]:.3f} off in the median")
assert held >= 0.85 * trials and off[trials // 2] <= 0.2
