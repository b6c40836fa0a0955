#!/usr/bin/env python3
"""A table of how well windows of events tell who waits for whom: of traced runs of programs with known causes windows are
taken out, as `gnomon run` keeps them, and each wait of `gnomon explain --waits` that is worth 2 % of a rank's time is held
against what the whole trace says of it.

    scripts/windows.py BUILD [--mpi openmpi|mpich] [--trials N] [--paces P[,P…]] [--steps N] [--shares] [PROGRAM…]

--shares: instead of waits what stragglers, frames, whatif and critical tell of 2 % of the run or more, of all of it.

Paces: how many times as long the programs sleep in each step (tests/patterns/pattern.h). Run scripts/mpi_env.sh first where
MPI needs it.
"""
import argparse
import bisect
import json
import math
import pathlib
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
RANKS = {"imbalance": 2, "late_sender": 2, "late_receiver": 2, "moving_imbalance": 2, "noise": 2, "chain": 4, "pipeline": 4,
         "master": 4, "phases": 2, "growth": 2}
PARTS = (0.1, 0.2, 0.5)  # of the events are kept
WORTH = 0.02


def run(command, folder, **more):
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=600, check=True, **more).stdout


def waits(gnomon, folder):
    report = json.loads(run([gnomon, "explain", "--waits", "--top", "0", "--format", "json", folder], "."))
    keys = ("rank", "call", "place", "waits_for", "for_call", "for_place")
    rows = {tuple(row[key] for key in keys): row["waited_s"] for row in report["waits"]}
    return rows, report["seen"]


def shares(gnomon, folder):
    """As waits(), of everything that the four analyses tell as a share of the run; what is of all of it, where windows do."""
    def ask(command, *options):
        return json.loads(run([gnomon, command, "--format", "json", *options, folder], "."))
    rows, fewest = {}, 1

    def add(key, seen, of_run):
        part = of_run or seen
        rows[key] = {"lo": part["lo"], "hi": part["hi"]}
    for row in ask("stragglers")["stragglers"]:
        add(("stragglers", row["name"]), row["score_percent"], row["run_score_percent"])
    frames = ask("frames")
    add(("frames", "all"), frames["all"]["percent"], frames["all"]["run_percent"])
    for row in frames["rows"]:
        add(("frames", row["who"]), row["time"]["percent"], row["time"]["run_percent"])
    for by in ("activity", "rank"):
        for row in ask("critical", "--top", "0", "--by", by)["rows"]:
            add(("critical", by, row["name"], row["kind"], row["place"]), row["share_percent"], row["run_percent"])
    sweep = ask("whatif", "--top", "20")
    for row in sweep["answers"]:
        if row["change"] == "faster" and not row["start_or_end"]:
            add(("whatif", row["activity"]["name"], row["rank"], row["faster_percent"]), row["speedup_percent"], row["run_speedup_percent"])
    return rows, ask("critical").get("seen")


def times_of_events(gnomon, folder):
    rows = [line.split(",") for line in run([gnomon, "export", "--to", "csv", folder], ".").splitlines()[1:]]
    begin = max(int(row[1]) for row in rows if row[5] == "leave" and row[6].startswith("MPI_Init"))
    end = min(int(row[1]) for row in rows if row[5] == "enter" and row[6] == "MPI_Finalize")
    return sorted(int(row[1]) for row in rows), begin, end, len({row[2] for row in rows})


def choose(ticks, begin, end, locations, part):
    """As src/agent/windows.c does it: a window lasts as long as its share of events takes, and the next one begins when those are paid for; one
    that has taken its time goes on."""
    share = 1500 + 200 * locations
    rate = part * len(ticks) / (end - begin)
    length = share * (end - begin) / len(ticks)
    windows, now = [], begin
    while now < end:
        first, stop = now, now
        while stop < end and now <= stop:
            kept = bisect.bisect_left(ticks, stop + length) - bisect.bisect_left(ticks, stop)
            stop += length
            now += kept / rate * random.uniform(0.5, 1.5)
        windows.append((int(first), int(min(stop, end))))
    return windows


def try_windows(gnomon, traced, windows, folder, asked):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(traced / "profile.db", folder / "profile.db")
    (folder / "windows").symlink_to(traced / "trace")
    with sqlite3.connect(folder / "profile.db") as db:
        db.execute("DELETE FROM run WHERE key GLOB 'trace/*' OR key GLOB 'windows/*'")
        db.execute("INSERT INTO run VALUES('windows/here/path', 'windows'), ('windows/here/spans', ?)",
                   (" ".join(f"{a} {b}" for a, b in windows),))
    db.close()
    return asked(gnomon, folder)


def measure(build, mpi, name, pace, steps, trials, folder, asked):
    gnomon, ranks = f"{build}/bin/gnomon", RANKS[name]
    program = folder / name
    if not program.exists():
        run([f"mpicc.{mpi}", "-O1", "-g", "-o", program, HERE / f"tests/patterns/{name}.c"], folder)
    run([f"mpirun.{mpi}", *(["--bind-to", "none"] if mpi == "openmpi" else []), "-n", str(ranks), gnomon, "run", "--quiet", "--trace",
         "--folder", f"{name}.runs", program, "bad", str(steps)], folder, env={**__import__("os").environ, "PACE": str(pace)})
    traced = max((folder / f"{name}.runs").iterdir(), key=lambda path: path.stat().st_mtime)
    truth, _ = asked(gnomon, traced)
    ticks, begin, end, locations = times_of_events(gnomon, traced)
    hz = sqlite3.connect(traced / "profile.db").execute("SELECT 1e9 / max(tick_ns) FROM process").fetchone()[0]
    length = (end - begin) / hz
    least = WORTH * length if asked is waits else 100 * WORTH
    worth = {key: row for key, row in truth.items() if row["lo"] >= least}
    held, off, wide = [], [], []
    for trial in range(trials):
        random.seed(f"{name} {pace} {trial}")
        windows = choose(ticks, begin, end, locations, PARTS[trial % len(PARTS)])
        if len(windows) < 2:
            continue
        told, seen = try_windows(gnomon, traced, windows, folder / "windowed", asked)
        for key, row in worth.items():
            is_told = key in told
            if not is_told and asked is shares and key[0] == "whatif":
                continue  # not among those that it has tried
            got = told.get(key, {"lo": 0, "hi": 0})
            held.append(got["lo"] <= row["hi"] and got["hi"] >= row["lo"])
            if not held[-1] and asked is shares and trial < 3:
                print(f"   {key} told {got['lo']:.2f} to {got['hi']:.2f}, true {row['lo']:.2f} to {row['hi']:.2f}; {seen}", flush=True)
            middle = (row["lo"] + row["hi"]) / 2
            if is_told and math.isfinite(got["hi"]):
                off.append(abs((got["lo"] + got["hi"]) / 2 / middle - 1))
                wide.append((got["hi"] - got["lo"]) / middle)
    return len(worth), length, held, off, wide


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--paces", default="0.2,2")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--shares", action="store_true")
    parser.add_argument("programs", nargs="*")
    a = parser.parse_intermixed_args()
    build = pathlib.Path(a.build).resolve()
    all_held, all_off = [], []
    print(f"{'program':18} {'pace':>5} {'length':>8} {'waits':>5} {'held':>9} {'off (median)':>12} {'wide (median)':>13}")
    with tempfile.TemporaryDirectory() as temporary:
        for name in a.programs or RANKS:
            for pace in map(float, a.paces.split(",")):
                rows, length, held, off, wide = measure(build, a.mpi, name, pace, a.steps, a.trials, pathlib.Path(temporary),
                                                           shares if a.shares else waits)
                all_held += held
                all_off += off
                print(f"{name:18} {pace:5g} {length:6.2f} s {rows:5} {sum(held):4}/{len(held):<4} "
                      f"{statistics.median(off or [0]):12.3f} {statistics.median(wide or [0]):13.3f}", flush=True)
    print(f"held: {sum(all_held)} of {len(all_held)} ({100 * sum(all_held) / max(len(all_held), 1):.1f} %); "
          f"off by {statistics.median(all_off or [0]):.3f} of the value in the median")


if __name__ == "__main__":
    sys.exit(main())
