#!/usr/bin/env python3
"""What an MPI call from Python (mpi4py) costs by the way on which the program came to it.

    paths.py N      N pairs of batches of every pattern

As bench/paths.c, and the same lines, but a pair is one batch that is measured and one while MPI_Pcontrol(0) has
switched the measurement off: mpi4py has no way past a tool. What passing through a switched-off tool costs (a
branch or two) is missing from the differences. Callers are functions of Python, so that all paths are one path of
C functions.
"""
import random
import statistics
import sys
import time

from mpi4py import MPI

CALLS = 2000
comm = MPI.COMM_SELF


def exchange():
    comm.Iprobe(0, 0)


def level(next_level, bit):
    """A function with two call sites of the next one; each has a code object and a name of its own."""
    text = (f"def level_{bit}(route):\n"
            f"    if route >> {bit} & 1:\n"
            f"        next_level({'route' if bit < 6 else ''})\n"
            f"    else:\n"
            f"        next_level({'route' if bit < 6 else ''})\n")
    names = {"next_level": next_level}
    exec(compile(text, __file__, "exec"), names)  # noqa: S102
    return names[f"level_{bit}"]


def tree():
    callers = exchange
    for bit in range(6, -1, -1):
        callers = level(callers, bit)
    return callers


def run(callers, routes):
    begin = time.perf_counter_ns()
    for route in routes:
        callers(route)
    return (time.perf_counter_ns() - begin) / len(routes)


def pair(callers, routes, measured_first):
    ns = {}
    for measured in [measured_first, not measured_first]:
        MPI.Pcontrol(1 if measured else 0)
        ns[measured] = run(callers, routes)
    MPI.Pcontrol(1)
    return ns[True], ns[False]


def show(what, name, values):
    values = sorted(values)
    count = len(values)
    print(f"{what} {name} calls 1 iterations {CALLS} batches {count} min {values[0]:.2f} q1 {values[count // 4]:.2f} "
          f"median {statistics.median(values):.2f} q3 {values[count - 1 - count // 4]:.2f}")


def main():
    batches = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    callers = tree()
    draw = random.Random(1).randrange
    patterns = {"mpi4py, 1 path": [0] * CALLS, "mpi4py, 64 paths": [draw(64) for _ in range(CALLS)]}
    pairs = {name: [] for name in patterns}
    for turn in range(batches):
        for name, routes in patterns.items():
            pairs[name].append(pair(callers, routes, turn % 2 == 0))
    for name, both in pairs.items():
        through, past = zip(*both)
        limits = [1.5 * statistics.quantiles(way, n=4)[0] for way in (through, past)]
        kept = [(a, b) for a, b in both if a <= limits[0] and b <= limits[1]]
        if kept:
            show("pattern", name, [a for a, _ in kept])
            show("added", name, [a - b for a, b in kept])


if __name__ == "__main__":
    main()
