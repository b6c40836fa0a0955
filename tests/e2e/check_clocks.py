#!/usr/bin/env python3
"""Whether the bounds of events on a clock that was made up hold.

    check_clocks.py --clock SPEC --hz HZ --widest NS events.csv

events.csv: `gnomon export --to csv --bounds` of a run on two hosts of one machine, ranks 0 and 1 on the first, whose
clock is the true counter, the others on the second, whose clock is SPEC (src/exchange/simulated.h; offset, rate, sine).
Exit status 1 if an event is outside, has no bounds, or if half of the widths are larger than NS.
"""
import argparse
import csv
import math
import sys

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "ppm": 1e-6}


def number(text):
    unit = text.lstrip("+-.0123456789")
    return float(text[: len(text) - len(unit)]) * UNITS[unit]


def parse(spec, hz):
    parts = dict(part.split("=") for part in spec.split(","))
    sine, period = parts.get("sine", "0ppm/1s").split("/")
    return {
        "offset": number(parts.get("offset", "0s")) * hz,
        "rate": number(parts.get("rate", "0ppm")),
        "sine": number(sine),
        "period": number(period) * hz,
        "origin": int(parts.get("origin", "0")),
    }


def true_ticks(clock, reading):
    """The counter when the clock showed so much, to a tick or two."""
    base, u = reading - clock["origin"] - clock["offset"], 0.0
    for _ in range(20):
        wave = clock["sine"] * clock["period"] / (2 * math.pi) * (1 - math.cos(2 * math.pi * u / clock["period"]))
        u = (base - wave) / (1 + clock["rate"])
    return clock["origin"] + u


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clock", required=True)
    parser.add_argument("--hz", type=float, required=True)
    parser.add_argument("--widest", type=float, required=True)
    parser.add_argument("events")
    a = parser.parse_args()
    clock = parse(a.clock, a.hz)
    with open(a.events, newline="") as file:
        rows = list(csv.DictReader(file))
    # what the reference's readings are in ns: its own events say, to within their bounds
    first = next(r for r in rows if r["rank"] == "0" and r["lo_ns"])
    start_ticks, start_ns = int(first["ticks"]), int(first["lo_ns"])
    wrong = without = 0
    widths = []
    for row in rows:
        if not row["lo_ns"] or not row["hi_ns"]:
            without += 1
            continue
        reading = int(row["ticks"])
        true = reading if int(row["rank"]) < 2 else true_ticks(clock, reading)
        ns = start_ns + (true - start_ticks) * 1e9 / a.hz
        slack = 5 + abs(true - start_ticks) * 1e9 / a.hz * 2e-6  # the two hosts measured hz on their own
        wrong += not int(row["lo_ns"]) - slack <= ns <= int(row["hi_ns"]) + slack
        if int(row["rank"]) >= 2:
            widths.append(int(row["hi_ns"]) - int(row["lo_ns"]))
    widths.sort()
    middle = widths[len(widths) // 2]
    print(f"{len(rows)} events, {wrong} outside, {without} without bounds, width {middle} ns in the middle")
    sys.exit(bool(wrong or without or middle > a.widest))


main()
