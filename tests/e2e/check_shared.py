#!/usr/bin/env python3
"""Holds the order of events of fixtures/shared_channels.c against what its messages say.

    check_shared.py TRUTH EVENTS.jsonl ORDER.json [--known-limits]

TRUTH is the folder with the program's truth.<rank>.<thread>, EVENTS what `gnomon order --to jsonl` wrote (sends, receives and
ends of collectives are enough), ORDER its statistics. All ranks read one counter.

  - nothing is received before it was sent, marked or not;
  - each send is received once, and nothing is left over;
  - whatever is not marked is joined to the very send whose message it got, or to the root's begin.

--known-limits: marks may be missing at the first messages that several threads receive on a channel (docs/order.md, Limits): those
are counted, and no mistakes.
"""
import collections
import glob
import json
import os
import sys

SENDS, RECEIVES, ENDS = ("mpi_send", "mpi_isend"), ("mpi_recv", "mpi_irecv"), ("collective_end", "nbc_complete")
FIRST_OWN_TAG = 1000  # of the message by which a thread is found
wrong = collections.Counter()
examples = []


def mistake(what, event):
    wrong[what] += 1
    if wrong[what] <= 3:
        examples.append(f"{what}: {event}")


def nanoseconds(seconds):
    return round(seconds * 1e9)


def read_truth(folder):
    """{(rank, thread): [(rank, thread, number)]}, {(rank, thread): [root]}"""
    messages, roots = {}, {}
    for path in glob.glob(os.path.join(folder, "truth.*.*")):
        place = tuple(map(int, path.split(".")[-2:]))
        lines = [line.split() for line in open(path)]
        messages[place] = [tuple(map(int, words)) for kind, *words in lines if kind == "R"]
        roots[place] = [int(words[0]) for kind, *words in lines if kind == "B"]
    return messages, roots


def read_events(path):
    """{location: (rank, thread)}, and of each (rank, thread): [time of each send], [receive], [end with a sender]"""
    places, sends, receives, ends = {}, *(collections.defaultdict(list) for _ in range(3))
    with open(path) as file:
        for line in file:
            e = json.loads(line)
            here = e["location"]
            if e.get("tag", 0) >= FIRST_OWN_TAG:
                places[here] = e["rank"], e["tag"] - FIRST_OWN_TAG
            elif e["kind"] in SENDS:
                sends[here].append(nanoseconds(e["time"]))
            elif e["kind"] in RECEIVES:
                receives[here].append(e)
            elif e["kind"] in ENDS and e["op"] in ("bcast", "scatter"):
                ends[here].append(e)
    return places, *({places[here]: of[here] for here in places} for of in (sends, receives, ends))


class Shared:
    """Channels on which two threads have received by now: before, nobody knows that they will."""

    def __init__(self, receives):
        seen = collections.defaultdict(dict)  # channel: thread: its first receive
        for (rank, thread), here in receives.items():
            for e in here:
                seen[self.channel(rank, e)].setdefault(thread, e["time"])
        self.since = {c: sorted(first.values())[1] for c, first in seen.items() if len(first) > 1}

    @staticmethod
    def channel(rank, e):
        return rank, e["comm"], e["peer"], e["tag"]

    def has(self, rank, e):
        return e["time"] > self.since.get(self.channel(rank, e), float("inf"))


def main():
    messages, roots = read_truth(sys.argv[1])
    places, sends, receives, ends = read_events(sys.argv[2])
    sort = json.load(open(sys.argv[3]))["sort"]
    shared = Shared(receives) if "--known-limits" in sys.argv else None
    counts, taken = collections.Counter(), collections.Counter()
    for place, truth in messages.items():
        if len(receives.get(place, [])) != len(truth):
            mistake("another number of receives", f"{place}: {len(receives.get(place, []))}, not {len(truth)}")
        for e, (rank, thread, number) in zip(receives.get(place, []), truth):
            counts["receives"] += 1
            marked = any(e.get(mark) for mark in ("ambiguous", "released", "unmatched"))
            counts["marked"] += marked
            sent = sends[rank, thread][number]
            if sent > nanoseconds(e["time"]):
                mistake("the trace itself has it before it was sent", e)
            if "sender" not in e:
                mistake("joined to nothing", e)
                continue
            joined = places[e["sender"]], nanoseconds(e["sent"])
            taken[joined] += 1
            if joined[1] > nanoseconds(e["time"]):
                mistake("received before it was sent", e)
            if joined == ((rank, thread), sent):
                continue
            counts["joined to another send"] += 1
            if not marked and (not shared or shared.has(place[0], e)):
                mistake("joined to another send and not marked", e)
            elif not marked:
                counts["not marked before the channel was known to be shared"] += 1
        for e, root in zip(ends.get(place, []), roots[place]):
            counts["from a root"] += 1
            if place[0] != root and ("sender" not in e or places[e["sender"]] != (root, place[1])):
                mistake("from another root", e)
            elif "sent" in e and e["sent"] > e["time"]:
                mistake("before the root sent it", e)
    for send, times in taken.items():
        if times > 1:
            mistake("a send is received twice", send)
    for what in ("unmatched_receives", "unmatched_sends", "incomplete_collectives", "released", "contradictions",
                 "backward_in_output", "backward_by_timestamp"):
        if sort[what]:
            mistake(f"{what} {sort[what]}", "")
    if not counts["receives"]:
        mistake("no receives", "")
    print("; ".join(f"{what}: {count}" for what, count in counts.items()))
    print("\n".join(examples + [f"{count} × {what}" for what, count in wrong.items()]), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


main()
