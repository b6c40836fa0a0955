#!/usr/bin/env python3
"""Whether two OTF2 archives are the same but for timestamps, as otf2-print shows them.

    same_events.py BEFORE AFTER unchanged|moved|bounded

unchanged: every timestamp is the same, too (as a reader sees it: with the archive's clock offsets).
moved: at each location times do not go back where they did not before, and no event is earlier than it was.
bounded: as moved, but events may be earlier, as guaranteed bounds may ask for.
"""

import collections
import re
import subprocess
import sys

EVENT = re.compile(r"([A-Z_0-9]+)\s+(\d+)\s+(\d+)\s*(.*)")
# What says from when to when the trace is, and how many definitions and events were read.
OWN = ("CLOCK_PROPERTIES",)


def shown(*words):
    return subprocess.run(["otf2-print", *words], check=True, capture_output=True, text=True).stdout.splitlines()


def events(anchor):
    """{location: [(time, what)]}; attributes belong to the event above them"""
    found = collections.defaultdict(list)
    last = None
    for line in shown(anchor):
        match = EVENT.match(line)
        if match:
            kind, location, time, rest = match.groups()
            last = found[int(location)]
            last.append((int(time), kind + " " + rest))
        elif last is not None and line.strip():
            time, what = last[-1]
            last[-1] = (time, what + " | " + line.strip())
    return found


def definitions(anchor):
    return [line for line in shown("-G", anchor) if not line.startswith(OWN) and anchor not in line]


def main():
    before_anchor, after_anchor, mode = sys.argv[1:]
    before, after = events(before_anchor), events(after_anchor)
    assert definitions(before_anchor) == definitions(after_anchor), "other definitions"
    assert sum(map(len, before.values())) > 0, "no events"
    assert before.keys() == after.keys(), (sorted(before), sorted(after))
    moved = 0
    for location, was in before.items():
        now = after[location]
        assert len(was) == len(now), (location, len(was), len(now))
        for i, ((old, what), (new, that)) in enumerate(zip(was, now)):
            assert what == that, (location, i, what, that)
            assert new >= old or mode == "bounded", (location, i, what, old, new)
            assert i == 0 or new >= now[i - 1][0] or old < was[i - 1][0], (location, i, what, "goes back")
            moved += new != old
    assert (moved == 0) == (mode == "unchanged"), f"{moved} events were moved"
    print(f"{sum(map(len, before.values()))} events, {moved} moved")


main()
