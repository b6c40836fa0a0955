"""check_windows.py GNOMON RUN TRIALS: of a run with a trace, windows are chosen at random as a run without one would have
kept them, and what explain says by them is held against what it says by the whole trace. In nine tenths of the trials at
least the interval has to hold what was waited in truth (it is one of 95 %, and so are few trials); its middle may be off
by a fifth in the median."""
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
held, off = 0, []
for trial in range(trials):
    random.seed(trial)
    count = random.choice((5, 12, 30))
    length = (end - begin) // (10 * count)
    starts = sorted(random.uniform(0, end - begin - count * length) for _ in range(count))
    spans = " ".join(f"{int(begin + at + i * length)} {int(begin + at + (i + 1) * length)}" for i, at in enumerate(starts))
    with sqlite3.connect("windowed/profile.db") as db:
        db.execute("DELETE FROM run WHERE key GLOB 'trace/*' OR key GLOB 'windows/*'")
        db.execute("INSERT INTO run VALUES('windows/here/path', 'windows'), ('windows/here/spans', ?)", (spans,))
    db.close()
    waited = seen("windowed")["waited_s"]
    held += waited["low"] <= truth["high"] and waited["high"] >= truth["low"]
    off.append(abs((waited["low"] + waited["high"]) / 2 / truth["low"] - 1))
off.sort()
print(f"{held} of {trials} intervals hold {truth['low']:.4f} s; the middle is {off[trials // 2]:.3f} off in the median")
assert held >= 0.9 * trials and off[trials // 2] <= 0.2
