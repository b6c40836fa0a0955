#!/usr/bin/env python3
"""Whether a trace of a program that ran to its end is whole and fits together across ranks.

    check_trace.py traces.otf2 [--unmatched-tags TAG,...] [--sizeless-tags TAG,...]

One line for each fact that does not hold; exit status 1 if there is one, 77 if this Python cannot read OTF2.
Messages with the first tags may be sent without being received (what an MPI error threw away); of those with the
others nobody knows how much was received.
"""
import collections
import sys

try:
    import otf2
    from otf2 import events
except ImportError:
    sys.exit(77)
sys.dont_write_bytecode = True
from intercomms import second_groups

wrong = []


def say(text):
    wrong.append(text)


class Location:
    """What one thread did, in order."""

    def __init__(self, location):
        self.name = f"location {location.name} of {location.group.name}"
        self.stack = []
        self.time = 0

    def step(self, event):
        if event.time < self.time:
            say(f"{self.name}: time goes backward at {event.time}")
        self.time = event.time
        if isinstance(event, events.Enter):
            self.stack.append(event.region)
        elif isinstance(event, events.Leave):
            if not self.stack or self.stack.pop() is not event.region:
                say(f"{self.name}: leaves {event.region.name} without entering it")

    def end(self):
        if self.stack:
            say(f"{self.name}: never leaves {[r.name for r in self.stack]}")


class Requests:
    """Each starts once and completes once, in one process."""

    STARTS = {"MpiIsend": "send", "MpiIrecvRequest": "receive", "NonBlockingCollectiveRequest": "collective"}
    ENDS = {"MpiIsendComplete": "send", "MpiIrecv": "receive", "NonBlockingCollectiveComplete": "collective"}

    def __init__(self):
        self.open = {}
        self.started = collections.Counter()

    def step(self, location, event):
        kind = type(event).__name__
        if kind in self.STARTS:
            key = (location.group, event.request_id)
            if key in self.open:
                say(f"{location.group.name}: request {event.request_id} starts twice")
            self.open[key] = self.STARTS[kind]
            self.started[self.STARTS[kind]] += 1
        elif kind in self.ENDS or kind == "MpiRequestCancelled":
            what = self.open.pop((location.group, event.request_id), None)
            if what is None or what != self.ENDS.get(kind, what):
                say(f"{location.group.name}: {kind} of request {event.request_id}, which is {what}")

    def end(self):
        for (group, number), what in self.open.items():
            say(f"{group.name}: request {number} ({what}) never completes")


def name_of(comm):
    return f"communicator {comm._ref} {comm.name}"


def sides(comm):
    """The members of a communicator, or of both groups of an intercommunicator, as lists of processes."""
    groups = [comm.group] + ([second_groups[comm]] if comm in second_groups else [])
    return [[member.group for member in group.members] for group in groups]


class Numbers:
    """What has the same number is the same message, or the same collective, on both sides and for all members."""

    def __init__(self):
        self.messages = collections.defaultdict(lambda: ({}, {}))  # by channel: lengths sent and received, by number
        self.collectives = collections.defaultdict(dict)  # by communicator and number: process: operation
        self.late = {}  # by process and name: where its number belongs
        self.told = {}

    @staticmethod
    def of(event, name="gnomon.number"):
        return next((v for a, v in (event.attributes or {}).items() if a.name == name), None)

    def put(self, numbers, number, what, where):
        if number in numbers:
            say(f"{where}: number {number} twice")
        numbers[number] = what

    def message(self, location, event, channel, received, length):
        numbers, where = self.messages[channel][received], f"{location.name} of {location.group.name}, {channel}"
        number, late = self.of(event), self.of(event, "gnomon.late")
        if number is not None:
            self.put(numbers, number, length, where)
        elif late is not None:
            self.late[location.group, late] = numbers, length, where

    def collective(self, location, event, comm, operation):
        number = self.of(event)
        if number is not None:
            self.put(self.collectives[comm, number], location.group, operation, f"{comm.name}, {number}")

    def end(self):
        for key, number in self.told.items():
            if key in self.late:
                numbers, length, where = self.late[key]
                self.put(numbers, number, length, where)
        for channel, (sent, received) in self.messages.items():
            for number in sent.keys() & received.keys():
                if sent[number] != received[number]:
                    say(f"{channel}: message {number} is sent with {sent[number]} bytes and received with "
                        f"{received[number]}")
        for (comm, number), operations in self.collectives.items():
            if len(set(operations.values())) > 1:
                say(f"{name_of(comm)}: collective {number} is {operations}")


class Communication:
    def __init__(self):
        self.sent = collections.Counter()
        self.received = collections.Counter()
        self.collectives = collections.defaultdict(collections.Counter)
        self.vectors = collections.Counter()
        self.posted = {}  # when, by process and request
        self.channels = collections.defaultdict(lambda: ([], [], set()))  # lengths sent, received, and who did
        self.now = 0
        self.depth = collections.Counter()
        self.members = {}
        self.numbers = Numbers()

    def rank(self, comm, location):
        """Which side a location is on, and its rank there."""
        if comm not in self.members:
            self.members[comm] = sides(comm)
        for side, members in enumerate(self.members[comm]):
            if location.group in members:
                return side, members.index(location.group)
        say(f"{location.name} is no member of {name_of(comm)}")
        return 0, -1

    def step(self, location, event):
        kind = type(event).__name__
        self.now += 1
        if kind == "MpiIrecvRequest":
            self.posted[location.group, event.request_id] = self.now
        self.depth[location] += {"MpiCollectiveBegin": 1, "MpiCollectiveEnd": -1}.get(kind, 0)
        length = 0 if getattr(event, "msg_tag", None) in self.sizeless else getattr(event, "msg_length", None)
        if kind == "ParameterUnsignedInt" and self.numbers.of(event) is not None:
            self.numbers.told[location.group, self.numbers.of(event, "gnomon.late")] = self.numbers.of(event)
        if getattr(event, "communicator", self) is None:  # with another world: only told to be there
            return
        if kind in ("MpiSend", "MpiIsend"):
            side, rank = self.rank(event.communicator, location)
            self.sent[event.communicator, side, rank, event.receiver, event.msg_tag, length] += 1
            channel = self.channels[event.communicator, side, rank, event.receiver, event.msg_tag]
            channel[0].append(length)
            channel[2].add(location)
            self.numbers.message(location, event, (event.communicator, side, rank, event.receiver, event.msg_tag), False,
                                 length)
        elif kind in ("MpiRecv", "MpiIrecv"):
            side, rank = self.rank(event.communicator, location)
            side = len(self.members[event.communicator]) - 1 - side  # the sender's
            self.received[event.communicator, side, event.sender, rank, event.msg_tag, length] += 1
            when = self.posted[location.group, event.request_id] if kind == "MpiIrecv" else self.now
            channel = self.channels[event.communicator, side, event.sender, rank, event.msg_tag]
            channel[1].append((when, length))
            channel[2].add(location)
            self.numbers.message(location, event, (event.communicator, side, event.sender, rank, event.msg_tag), True,
                                 length)
        if kind == "MpiCollectiveEnd":
            self.numbers.collective(location, event, event.communicator, event.collective_op)
        if kind in ("MpiCollectiveEnd", "NonBlockingCollectiveComplete"):
            self.collectives[event.communicator, kind, location.group][event.collective_op] += 1
            if event.collective_op in (otf2.CollectiveOp.REDUCE_SCATTER, otf2.CollectiveOp.REDUCE_SCATTER_BLOCK):
                self.vectors[event.communicator, location.group] += event.size_sent

    def end(self, allowed):
        self.numbers.end()
        for key in self.sent.keys() | self.received.keys():
            comm, _, source, target, tag, length = key
            sent, received = self.sent[key], self.received[key]
            if sent != received and not (sent > received and tag in allowed):
                say(f"{name_of(comm)}: {source} sends {sent} messages of {length} bytes with tag {tag} to {target}, "
                    f"which receives {received}")
        for (comm, _, source, target, tag), (lengths, posts, locations) in self.channels.items():
            taken = [length for _, length in sorted(posts)]
            if lengths != taken and sorted(lengths) == sorted(taken) and len(locations) <= 2:
                say(f"{name_of(comm)}: {source} sends lengths {lengths} with tag {tag} to {target}, which posts {taken}")
        for location, depth in self.depth.items():
            if depth:
                say(f"{location.name}: {depth} collectives without an end")
        for comm, kind, _ in list(self.collectives):
            for side in sides(comm):
                done = [self.collectives.get((comm, kind, member)) for member in side]
                if any(d != done[0] for d in done):
                    say(f"{name_of(comm)}: members disagree on {kind}: {done}")
        for comm in {comm for comm, _ in self.vectors}:  # both sides of an intercommunicator have vectors of one length
            lengths = [self.vectors[comm, member] for side in sides(comm) for member in side]
            if len(set(lengths)) > 1:
                say(f"{name_of(comm)}: bytes that members send to scatter a reduction differ: {lengths}")


def main():
    options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    allowed, sizeless = ({int(t) for t in options[o].split(",")} if o in options else set()
                         for o in ("--unmatched-tags", "--sizeless-tags"))
    requests, communication, locations, kinds = Requests(), Communication(), {}, collections.Counter()
    communication.sizeless = sizeless
    with otf2.reader.open(sys.argv[1]) as trace:
        for location, event in trace.events:
            kinds[type(event).__name__] += 1
            locations.setdefault(location, Location(location)).step(event)
            requests.step(location, event)
            communication.step(location, event)
    for location in locations.values():
        location.end()
    requests.end()
    communication.end(allowed)
    for line in sorted(set(wrong)):
        print(line)
    print(", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
