#!/usr/bin/env python3
"""A table of what is told in virtual time (Li & Zhang 5.3) of programs that were measured at a known, injected cost
per call, beside what they take when nobody measures them: tests/virtual/staged.c, from barrier to barrier.

    scripts/virtual.py BUILD [--mpi openmpi|mpich] [--ranks N] [--cost US[,US…]] [--steps N] [PROGRAM…]

Each figure is the median of five runs, bare and measured in turn. A rank has a random share of the cost, a call of it a
random part of that. Run scripts/mpi_env.sh first where MPI needs it.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ["ring", "stencil", "master", "collectives", "matrix"]
RUNS = 5


def call(command, folder, **environment):
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=300, check=True,
                          env={**os.environ, **environment})


def numbers(text):
    return [[float(x) for x in line.split()] for line in text.splitlines() if line[:1].isdigit()]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--cost", default="0,10,50")
    parser.add_argument("--steps", default="2000")
    parser.add_argument("programs", nargs="*", default=[])
    asked = parser.parse_intermixed_args()
    build = asked.build.resolve()
    start = [f"mpirun.{asked.mpi}", "-n", str(asked.ranks)] + (["--bind-to", "none"] if asked.mpi == "openmpi" else [])
    worst = []
    with tempfile.TemporaryDirectory() as folder:
        call([f"mpicc.{asked.mpi}", "-O1", "-g", "-o", "staged", HERE / "tests/virtual/staged.c"], folder)
        print(f"{'program':<12} {'cost':>6} {'stage':>5} {'bare':>10} {'measured':>10} {'':>7} {'virtual':>10} {'':>7}")
        for name in asked.programs or PROGRAMS:
            for cost in asked.cost.split(","):
                bare, measured = [], []
                for turn in range(RUNS):
                    program = ["./staged", name, asked.steps]
                    bare.append([row[0] for row in numbers(call(start + program, folder).stdout)])
                    runs = f"runs{name}{cost}{turn}"
                    call(start + [build / "bin/gnomon", "run", "--trace", "-d", runs] + program, folder,
                         GNOMON_TEST_COST=f"{float(cost) * 1000:.0f}:{turn + 1}")
                    trace = next((pathlib.Path(folder) / runs).glob("*/trace"))
                    measured.append(numbers(call([build / "tests/virtual/stages", trace], folder).stdout))
                for stage in range(len(bare[0])):
                    plain = statistics.median(b[stage] for b in bare)
                    raw = statistics.median(m[stage][0] for m in measured)
                    free = statistics.median(m[stage][1] for m in measured)
                    worst.append(abs(free / plain - 1))
                    print(f"{name:<12} {cost:>3} us {stage + 1:>5} {plain * 1e3:>7.1f} ms {raw * 1e3:>7.1f} ms "
                          f"{raw / plain - 1:>+7.1%} {free * 1e3:>7.1f} ms {free / plain - 1:>+7.1%}", flush=True)
    print(f"virtual from bare: median {statistics.median(worst):.1%}, most {max(worst):.1%}")


if __name__ == "__main__":
    main()
