#!/usr/bin/env python3
"""Holds what gnomon says of a trace without some of its event files against the whole trace.

    missing_thirds.py WHOLE.otf2 FILE-ID,… ORDER.jsonl CHECK.json [REPAIRED.jsonl]

Knows nothing of gnomon: which message is whose comes from the whole archive, by OTF2's own Python reader: first in, first
out per sender, receiver, communicator and tag, receives in posting order. A receive is joined to that very send where the sender's
file is there, and to none where it is not, and marked; what is covered is counted. In the repaired trace no message
is received before it was sent. Exit status 77 if this Python cannot read OTF2.
"""
import collections
import json
import sys

try:
    import otf2
except ImportError:
    sys.exit(77)


class Whole:
    def __init__(self, anchor):
        self.sends = collections.defaultdict(list)  # channel: (location, how many-th send there)
        self.sent = collections.Counter()
        self.posted = collections.defaultdict(list)  # location: receives in posting order: [channel, how many-th to complete]
        self.requests, self.completed = {}, collections.Counter()
        self.instances = collections.defaultdict(collections.Counter)  # communicator: of each location
        self.members = {}
        with otf2.reader.open(anchor) as trace:
            self.comms = list(trace.definitions.comms)
            self.ids = {location: i for i, location in enumerate(trace.definitions.locations)}
            for location, event in trace.events:
                handler = getattr(self, "on_" + type(event).__name__, None)
                if handler:
                    handler(self.ids[location], event)
        self.match()

    def rank(self, comm, rank):
        return self.ids[comm.group.members[rank]]

    def on_MpiSend(self, here, event):
        channel = (event.communicator, here, self.rank(event.communicator, event.receiver), event.msg_tag)
        self.sends[channel].append((here, self.sent[here]))
        self.sent[here] += 1

    on_MpiIsend = on_MpiSend

    def received(self, here, event, post):
        post += [(event.communicator, self.rank(event.communicator, event.sender), here, event.msg_tag), self.completed[here]]
        self.completed[here] += 1

    def on_MpiRecv(self, here, event):
        self.posted[here].append([])
        self.received(here, event, self.posted[here][-1])

    def on_MpiIrecvRequest(self, here, event):
        self.posted[here].append([])
        self.requests[here, event.request_id] = self.posted[here][-1]

    def on_MpiIrecv(self, here, event):
        self.received(here, event, self.requests.pop((here, event.request_id)))

    def on_MpiCollectiveEnd(self, here, event):
        self.see(here, event.communicator)

    on_NonBlockingCollectiveComplete = on_MpiCollectiveEnd

    def see(self, here, comm):
        members = [self.ids[m] for m in comm.group.members]
        if len(members) > 1:
            self.members[comm] = members
            self.instances[comm][here] += 1

    def match(self):
        """sender[location, how many-th receive there]: location of the send, and how many-th it is."""
        next_of, self.sender = collections.Counter(), {}
        for here, posts in self.posted.items():
            for post in filter(None, posts):
                channel, number = post
                if next_of[channel] < len(self.sends[channel]):
                    self.sender[here, number] = self.sends[channel][next_of[channel]]
                next_of[channel] += 1


def send_times(path):
    """{location: [time of each send]}"""
    times = collections.defaultdict(list)
    with open(path) as file:
        for line in file:
            e = json.loads(line)
            if e["kind"] in ("mpi_send", "mpi_isend"):
                times[e["location"]].append(e["time"])
    return times


def receives(path):
    """(location, how many-th, event) of each."""
    count = collections.Counter()
    with open(path) as file:
        for line in file:
            e = json.loads(line)
            if e["kind"] in ("mpi_recv", "mpi_irecv"):
                yield e["location"], count[e["location"]], e
                count[e["location"]] += 1


def check_order(whole, missing, path):
    joined, sent = 0, send_times(path)
    for here, number, e in receives(path):
        sender, which = whole.sender.get((here, number), (None, None))
        if sender is None or sender in missing:
            assert "sender" not in e, f"joined to a send that is not there: {e}"
            assert e.get("unmatched") or e.get("released"), f"not marked: {e}"
            continue
        assert e.get("sender") == sender, f"of {sender}: {e}"
        assert e["sent"] == sent[sender][which], f"sent at {sent[sender][which]}: {e}"
        joined += 1
    expected = sum(here not in missing and sender not in missing for (here, _), (sender, _) in whole.sender.items())
    assert joined == expected, f"{joined} messages and not {expected}"
    return joined


def check_marks(whole, missing, path):
    """Whoever waits for all is marked where one of them is not there, and nowhere else."""
    for line in open(path):
        e = json.loads(line)
        if e["kind"] not in ("collective_end", "nbc_complete"):
            continue
        if e["op"] == "barrier" or e["op"] in ("allreduce", "allgather", "alltoall") and e["bytes_received"]:
            waits_in_vain = bool(missing & set(whole.members.get(whole.comms[e["comm"]], ())))
            assert e.get("released", False) == waits_in_vain, e


def check_coverage(whole, missing, path, joined):
    said = json.load(open(path))
    covered = said["coverage"]
    ends = sum(n for l, n in [*whole.sent.items(), *whole.completed.items()] if l not in missing)
    assert covered["messages"] == {"all": ends - joined, "checked": joined}, (covered, ends, joined)
    there = complete = 0
    for comm, counts in whole.instances.items():
        there += max((n for l, n in counts.items() if l not in missing), default=0)
        complete += 0 if missing & set(whole.members[comm]) else min(counts[m] for m in whole.members[comm])
    assert covered["collectives"] == {"all": there, "checked": complete}, (covered, there, complete)
    assert covered["unread_locations"] == len(missing) and covered["complete"] == (not missing), covered
    return there, complete


def main():
    whole, missing = Whole(sys.argv[1]), {int(i) for i in sys.argv[2].split(",") if i}
    joined = check_order(whole, missing, sys.argv[3])
    check_marks(whole, missing, sys.argv[3])
    there, complete = check_coverage(whole, missing, sys.argv[4], joined)
    for path in sys.argv[5:]:
        for here, number, e in receives(path):
            sender = whole.sender.get((here, number), (None,))[0]
            assert e.get("sender") == (None if sender in missing else sender), e
            assert "sent" not in e or e["sent"] <= e["time"], e
    print(f"{joined} messages, {complete} of {there} collectives")


main()
