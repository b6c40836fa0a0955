#!/usr/bin/env python3
"""Random traces, repaired with random settings: nothing is violated afterwards, and nothing else is changed.

    sync_random.py GNOMON FIRST COUNT    seeds FIRST … FIRST + COUNT − 1, in the working folder

Each trace is of a pattern, with clocks that are wrong by nanoseconds or by milliseconds, drift and wander, in fewer
domains than locations or in as many; some have lost events, unmatched sends, or clock offsets. Looked at afterwards: by
gnomon's own verifier, by check_condition.py where nothing was lost, and event by event by same_events.py. A trace without
a reversed message stays as it was, byte for byte, when µ is estimated or 0. Exit status 77 if this Python cannot read OTF2.
"""
import filecmp
import json
import pathlib
import random
import shutil
import subprocess
import sys

here = pathlib.Path(__file__).parent


def run(*words, ok=(0,)):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode in ok, f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done


def time(r, low_ns, high_ns):
    return f"{low_ns * (high_ns / low_ns) ** r.random():.0f}ns"


def make(gnomon, r, patterns, seed):
    """The words that a trace is made with, and whether all of it is there."""
    pattern, n = r.choice(patterns), r.randint(2, 9)
    domains = r.choice([1, n, n, r.randint(1, n)])
    words = [pattern, "-n", n, "-e", int(10 ** r.uniform(2.5, 3.8)), "--domains", domains, "--seed", seed, "-o", "was",
             "--spacing", f"{r.choice([1, 40, 40])}ns", "--compute", time(r, 50, 2e5), "--latency", time(r, 100, 2e5)]
    if domains < n and r.random() < 0.5:
        words += ["--latency-within", time(r, 20, 1000)]
    if r.random() < 0.9:
        words += ["--offset", time(r, r.choice([10, 2000, 20000]), 2e7)]
    if r.random() < 0.6:
        words += ["--rate", f"{10 ** r.uniform(-2, 3.5):.4f}ppm"]
    if r.random() < 0.4:
        kind = r.choice(["sine", "ramp", "step"])
        words += ["--wander", f"{kind}:{10 ** r.uniform(-1, 3):.4f}ppm:{10 ** r.uniform(0, 4):.0f}us"]
    if r.random() < 0.2:
        words += ["--measure-offsets", time(r, 10, 300)]  # a trace is tens of us long at least
    whole = pattern != "lost"
    if r.random() < 0.15:
        words += ["--unmatched", f"{r.uniform(0, 0.3):.3f}"]
    if r.random() < 0.15:
        words += ["--lost", f"{10 ** r.uniform(-4, -1):.6f}"]
        whole = False
    run(gnomon, "synth", *words)
    return words, whole


def settings(r):
    words, latency = [], None
    if r.random() < 0.5:
        words += ["--gamma", r.choice(["0.5", "0.9", "0.99", "0.999", "0.99999", f"{r.uniform(0.01, 0.999):.4f}"])]
    if r.random() < 0.6:
        longest = r.choice(["", "," + time(r, 10, 1e9)])
        words += ["--amortize", r.choice(["none", "100%", "10%", "1%", "0.1%", "0.001%"])]
        words[-1] += longest if words[-1] != "none" else ""
    if r.random() < 0.4:
        latency = int(10 ** r.uniform(0, 5)) if r.random() < 0.7 else 0
        words += ["--latency", f"{latency}ns"]
    if r.random() < 0.2:
        words += ["--threshold", time(r, 10, 1e6)]
    if r.random() < 0.3:
        words += ["--presync", "none"]
    return words, latency


def judge(gnomon, words, given, whole, latency):
    complete = whole and "unmatched" not in words and "--unmatched" not in words
    partial = [] if complete else ["--partial"]
    done = run(gnomon, "sync", "was", "-o", "is", "--verify", "--format", "json", *partial, *given, ok=(0, 1))
    report = json.loads(done.stdout)
    verified = report["verified"]
    assert not complete or verified["coverage"]["complete"], json.dumps(verified, indent=1)
    assert done.returncode == 0 and verified["holds"], json.dumps(verified, indent=1)
    before, after = next(pathlib.Path("was").glob("*.otf2")), next(pathlib.Path("is").glob("*.otf2"))
    if whole:
        facts = json.loads(run(sys.executable, here / "check_condition.py", after, "--latency", latency or 0).stdout)
        assert facts["holds"], json.dumps(facts, indent=1)
    has_offsets = "--measure-offsets" in words
    has_other_offsets = has_offsets and "none" in given[-1:]  # none: a reader sees what the clocks showed
    if not has_other_offsets:
        run(sys.executable, here / "same_events.py", before, after, "unchanged" if report["moved"] == 0 else "moved")
    reversed_ = sum(report["messages"][kind]["reversed"] for kind in ("point_to_point", "collectives"))
    if reversed_ == 0 and not latency:
        assert report["moved"] == 0, "nothing was reversed, yet something was moved"
        assert report["unchanged"] or has_other_offsets, "nothing was moved, yet something is new"
    if report["unchanged"]:
        for file in pathlib.Path("was").rglob("*.evt"):
            assert filecmp.cmp(file, "is" / file.relative_to("was"), shallow=False), file
    return report


def one(gnomon, patterns, seed):
    r = random.Random(seed)
    for name in ("was", "is"):
        shutil.rmtree(name, ignore_errors=True)
    words, whole = make(gnomon, r, patterns, seed)
    given, latency = settings(r)
    told = f"seed {seed}: synth {' '.join(map(str, words))}; sync {' '.join(given)}"
    try:
        report = judge(gnomon, words, given, whole, latency)
    except Exception as wrong:
        print(f"{told}\n{wrong}", flush=True)
        return False, True
    return True, report["unchanged"]


def main():
    gnomon, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    patterns = [line.split()[0] for line in run(gnomon, "synth", "--list").stdout.splitlines()]
    good = moved = 0
    for seed in range(first, first + count):
        is_good, unchanged = one(gnomon, patterns, seed)
        good += is_good
        moved += not unchanged
    print(f"{good} of {count} traces are right, {moved} were repaired")
    sys.exit(good < count or moved == 0)


main()
