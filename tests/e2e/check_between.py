"""Random parts of a run of logged.c: what the ranks did in them, against what they have written down."""
import json
import random
import sqlite3
import subprocess
import sys

gnomon, run, work = sys.argv[1:]
db = sqlite3.connect(f"file:{run}/profile.db?mode=ro", uri=True)
inits = {rank: (before, before + length) for rank, before, length in db.execute(
    """SELECT p.rank, p.init_ns, n.total_ns FROM process p JOIN location l ON l.process = p.id JOIN node n ON n.location = l.id
    JOIN activity a ON a.id = n.activity WHERE a.name = 'MPI_Init'""")}
steps = []
for host, tick in db.execute("SELECT host, max(tick_ns) FROM process GROUP BY host").fetchall():
    moments = [t for (t,) in db.execute("SELECT ticks FROM moment WHERE host = ? ORDER BY number", (host,))]
    assert 10 < len(moments) <= 513, (host, len(moments))
    steps += [(b - a) * tick * 1e-9 for a, b in zip(moments, moments[1:])]
print(f"{len(steps)} steps, the longest {max(steps):.3f} s")

logs = {rank: [(what, float(a), float(b)) for what, a, b in (line.split() for line in open(f"{work}/log.{rank}"))]
        for rank in inits}
# when the first process began: between these two
first = min(log[0][1] - inits[rank][0] * 1e-9 for rank, log in logs.items())
unsure = min(log[0][2] - inits[rank][1] * 1e-9 for rank, log in logs.items()) - first
print(f"the begin is known to {unsure * 1e3:.3f} ms")
logs = {rank: [(what, a - first, b - first) for what, a, b in log] for rank, log in logs.items()}
end = max(b for log in logs.values() for _, _, b in log)
whole = json.loads(subprocess.run([gnomon, "report", "--between", "0,", "--format", "json", run], check=True,
                                  capture_output=True, text=True).stdout)["run"]["between"]
total = whole["run_s"]
# … of which the logs are counted from the earlier one
assert end - unsure - 0.01 < total < end + 5, (end, unsure, total)


def truth(what, low, high):
    return sum(max(0, min(b, high) - max(a, low)) for log in logs.values() for w, a, b in log if w == what)


def told(low, high):
    text = subprocess.run([gnomon, "report", "--between", f"{low},{high}", "--by", "function", "--format", "json", run],
                          check=True, capture_output=True, text=True).stdout
    report = json.loads(text)
    mpi = json.loads(subprocess.run([gnomon, "report", "--between", f"{low},{high}", "--format", "json", run],
                                    check=True, capture_output=True, text=True).stdout)
    return report, mpi


random.seed(3)
for _ in range(25):
    low = random.uniform(0.3, end - 0.3)
    high = random.uniform(low + 0.2, end)
    report, screen = told(low, high)
    part = report["run"]["between"]
    low, high = part["from_s"], part["to_s"]
    assert abs(part["run_s"] - total) < 1e-6, part
    # what a look may be late by on a busy machine, and what hosts are apart; beside, what noting costs the program
    late = 0.002 + 2 * len(logs) * (0.002 + part["off_s"])
    aligned = late + 2 * len(logs) * unsure
    most = aligned + 0.01 * (high - low) * len(logs)
    waited = sum(a["total_s"] for a in screen["activities"] if a["name"] == "MPI_Barrier")
    assert abs(waited - truth("MPI_Barrier", low, high)) < aligned, (low, high, waited, truth("MPI_Barrier", low, high))
    work_s = sum(a["total_s"] for a in screen["activities"] if a["kind"] == "computation")
    true_s = truth("short_work", low, high) + truth("long_work", low, high)
    assert abs(work_s - true_s) < most, (low, high, work_s, true_s)
    # all that is shown is the ranks' time
    everything = sum(a["total_s"] for a in screen["activities"])
    assert abs(everything - len(logs) * (high - low)) < late, (everything, low, high)
    assert all(r["useful_s"] + r["mpi_s"] < high - low + late for r in screen["ranks"]), screen["ranks"]
    # names: what takes most of it is called so
    by_name = {what: truth(what, low, high) for what in ("short_work", "long_work")}
    heavy = max(by_name, key=by_name.get)
    if by_name[heavy] > 3 * (true_s - by_name[heavy]) + most:
        rows = [a for a in screen["activities"] if a["kind"] == "computation"]
        assert rows and max(rows, key=lambda a: a["total_s"])["function"] == heavy, (low, high, by_name, rows)

# one after the other, they are all of the run
parts = json.loads(subprocess.run([gnomon, "report", "--by", "time", "--top", "7", "--format", "json", run],
                                  check=True, capture_output=True, text=True).stdout)["parts"]
assert len(parts) == 7 and parts[0]["from_s"] == 0 and abs(parts[-1]["to_s"] - whole["to_s"]) < 1e-9, parts
assert all(a["to_s"] == b["from_s"] for a, b in zip(parts, parts[1:])), parts
calls = db.execute("SELECT sum(count) FROM node n JOIN activity a ON a.id = n.activity WHERE kind = 'mpi'").fetchone()[0]
assert sum(part["calls"] for part in parts) == calls, (parts, calls)
plain = json.loads(subprocess.run([gnomon, "report", "--format", "json", run], check=True, capture_output=True,
                                  text=True).stdout)
everything = json.loads(subprocess.run([gnomon, "report", "--between", "0,", "--format", "json", run], check=True,
                                       capture_output=True, text=True).stdout)
for row in plain["activities"]:
    if row["kind"] == "mpi":
        same = [r for r in everything["activities"] if (r["name"], r["line"]) == (row["name"], row["line"])]
        assert len(same) == 1 and same[0]["count"] == row["count"], (row, same)
