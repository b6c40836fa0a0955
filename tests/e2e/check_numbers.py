#!/usr/bin/env python3
"""Whether the numbers in a trace of fixtures/numbers.c are those that the program has counted itself.

    check_numbers.py traces.otf2 LOGS [--share CASE=PERCENT ...]

LOGS is the folder with the program's logs; threads beyond the 60th may be missing in the trace. Prints for each case of the program how many numbers are right, came late,
are missing, and are flagged as perhaps exchanged. Exit status 1 if one is wrong, if the trace has other messages than the
logs, or if fewer than PERCENT (default: 100) of a case's numbers are right; 77 if this Python cannot read OTF2.
"""
import argparse
import collections
import glob
import os
import sys

try:
    import otf2
    from otf2 import events
except ImportError:
    sys.exit(77)

Line = collections.namedtuple("Line", "kind case recorded comm peer tag number serial")
# kind of a line: the events it stands for
EVENTS = {"S": ("MpiSend", "MpiIsend"), "R": ("MpiRecv", "MpiIrecv"), "C": ("MpiCollectiveEnd",),
          "I": ("NonBlockingCollectiveRequest",)}
KIND_OF = {event: kind for kind, names in EVENTS.items() for event in names}
wrong = []


def read_logs(folder):
    """{(rank, thread): {kind: [line]}}"""
    logs = {}
    for path in glob.glob(os.path.join(folder, "numbers.*.*")):
        rank, thread = map(int, path.split(".")[-2:])
        lines = collections.defaultdict(list)
        for text in open(path):
            kind, case, *numbers = text.split()
            line = Line(kind, case, *map(int, numbers))
            if line.recorded:
                lines[kind].append(line)
        if lines:
            logs[rank, thread] = lines
    return logs


def attributes(event):
    return {attribute.name: value for attribute, value in (event.attributes or {}).items()}


def read_trace(anchor):
    """{(rank, thread): {kind: [(event, attributes)]}}, {(rank, name): (attribute, number)}"""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    late = {}
    with otf2.reader.open(anchor) as trace:
        places = {}
        for location in trace.definitions.locations:
            rank = int(location.group.name.split()[1])
            thread = 0 if location.name == "Master thread" else int(location.name.split()[1]) - 1
            places[location] = rank, thread
        for location, event in trace.events:
            name = type(event).__name__
            if name in KIND_OF:
                found[places[location]][KIND_OF[name]].append((event, attributes(event)))
            elif name == "ParameterUnsignedInt" and event.parameter.name == "gnomon.number":
                said = attributes(event)
                key = places[location][0], said["gnomon.late"]
                if key in late:
                    wrong.append(f"rank {key[0]}: the number of {key[1]} comes twice")
                which = "gnomon.number" if "gnomon.number" in said else "gnomon.unordered"
                late[key] = which, said.get(which)
    return found, late


def number_of(rank, said, late):
    """(what is known, number); what: right away, late, unordered, or missing"""
    if "gnomon.number" in said:
        return "at once", said["gnomon.number"]
    if "gnomon.unordered" in said:
        return "unordered", said["gnomon.unordered"]
    which, number = late.get((rank, said.get("gnomon.late")), (None, None))
    if number is None:
        return "missing", None
    return ("late" if which == "gnomon.number" else "unordered"), number


def check_place(line, event, comms, rank):
    """The line and the event are about the same message or instance."""
    comm = getattr(event, "communicator", None)
    if comm is None:
        return True
    if comms.setdefault(line.comm, comm) is not comm:
        return False
    peer = {"S": "receiver", "R": "sender"}.get(line.kind)
    return peer is None or (getattr(event, peer) == line.peer and event.msg_tag == line.tag)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("anchor")
    parser.add_argument("logs")
    parser.add_argument("--share", action="append", default=[])
    arguments = parser.parse_args()
    wanted = {case: int(share) for case, share in (s.split("=") for s in arguments.share)}
    logs = read_logs(arguments.logs)
    found, late = read_trace(arguments.anchor)
    counts = collections.defaultdict(collections.Counter)
    sent = {}  # (rank, serial): number as it was written
    received = []
    for place in sorted(set(logs) | set(found)):
        rank = place[0]
        if place not in found and place[1] > 60:
            counts["crowd"]["unseen"] += 1
            continue
        comms = {}
        for kind in EVENTS:
            lines, events_here = logs.get(place, {}).get(kind, []), found.get(place, {}).get(kind, [])
            if len(lines) != len(events_here):
                wrong.append(f"{place}: {len(events_here)} events of kind {kind} for {len(lines)} lines of the log")
            for line, (event, said) in zip(lines, events_here):
                if not check_place(line, event, comms, rank):
                    wrong.append(f"{place}: {line} is {event}")
                    break
                what, number = number_of(rank, said, late)
                if kind == "S":
                    sent[rank, line.serial] = what, number
                elif kind == "R":
                    received.append((line, what, number))
                if what in ("at once", "late") and line.number >= 0 and number != line.number:
                    wrong.append(f"{place}: {line} has the number {number}")
                    what = "wrong"
                counts[line.case][what] += 1
    # messages whose number the program does not know: what both sides say must be the same
    for line, what, number in received:
        if line.number >= 0 or what not in ("at once", "late"):
            continue
        by_sender, sender_number = sent.get((line.peer, line.serial), ("missing", None))
        if by_sender in ("at once", "late") and sender_number != number:
            wrong.append(f"{line} is {sender_number} for its sender and {number} for its receiver")
            counts[line.case]["wrong"] += 1
    for case, count in sorted(counts.items()):
        total = sum(count.values()) - count["unseen"]
        right = count["at once"] + count["late"]
        print(f"{case:16} {total:7} numbers: {count['at once']} right at once, {count['late']} late, "
              f"{count['missing']} missing, {count['unordered']} unordered, {count['wrong']} wrong"
              + (f"; {count['unseen']} threads not seen" if count["unseen"] else ""))
        if 100 * right < wanted.get(case, 100) * total:
            wrong.append(f"{case}: only {right} of {total} are right")
    for text in wrong[:20]:
        print(text)
    if len(wrong) > 20:
        print(f"… and {len(wrong) - 20} more")
    sys.exit(1 if wrong or not counts else 0)


main()
