#!/usr/bin/env python3
"""Whether what `gnomon export --to csv --bounds` says of a simulated trace is true.

    check_bounds.py true-times events.csv [REFERENCE]

Bounds are on the clock of the location REFERENCE (0). That location's own events say what the clock showed and when
that was; in between it is drawn as a straight line, which is right to a few nanoseconds. Prints what was found; exit
status 1 if a bound is wrong, or if there is none.
"""
import bisect
import csv
import struct
import sys

SLACK_NS = 5


def true_times(path):
    """{location: list of true times in ns, by event number}"""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"GNTRUTH1"
    at, times = 8, {}
    while at < len(data):
        location, count = struct.unpack_from("<2Q", data, at)
        times.setdefault(location, []).extend(struct.unpack_from(f"<{count}d", data, at + 16))
        at += 16 + 8 * count
    return times


def main(times_path, csv_path, reference=0):
    truth, seen, rows = true_times(times_path), {}, []
    with open(csv_path, newline="") as file:
        for row in csv.DictReader(file):
            location = int(row["location"])
            number = seen[location] = seen.get(location, -1) + 1
            rows.append((location, truth[location][number], int(row["time_ns"]), row["lo_ns"], row["hi_ns"]))
    shown = sorted((true, ns) for location, true, ns, lo, hi in rows if location == reference)
    instants = [true for true, ns in shown]
    checked = wrong = without = 0
    widths = []
    for location, true, _, lo, hi in rows:
        after = bisect.bisect_right(instants, true)
        if not lo or not hi:
            without += 1
        elif 0 < after < len(shown):
            (t0, n0), (t1, n1) = shown[after - 1], shown[after]
            ns = n0 + (n1 - n0) * (true - t0) / (t1 - t0)
            checked += 1
            wrong += not int(lo) - SLACK_NS <= ns <= int(hi) + SLACK_NS
            widths.append(int(hi) - int(lo))
    widths.sort()
    middle = widths[len(widths) // 2] if widths else None
    print(f"{checked} events checked, {wrong} wrong, {without} without bounds, width {middle} ns in the middle")
    sys.exit(wrong > 0 or not checked)


main(*sys.argv[1:3], *map(int, sys.argv[3:]))
