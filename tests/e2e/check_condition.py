#!/usr/bin/env python3
"""Counts, pair by pair, which messages of a trace break the clock condition: what `gnomon check` should say.

    check_condition.py traces.otf2 [--latency TICKS]     prints counts as JSON
    check_condition.py traces.otf2 --compare check.json  … and compares them with gnomon's; exit status 1: they differ

Knows nothing of gnomon: events and their times come from OTF2's own Python reader, messages are matched first in, first
out per sender, receiver, communicator and tag, receives in the order in which they were posted. For traces in which
nothing was lost. Exit status 77 if this Python cannot read OTF2.
"""
import argparse
import collections
import json
import sys

try:
    import otf2
    from otf2.registry import _RefRegistry
except ImportError:
    sys.exit(77)
sys.dont_write_bytecode = True
from intercomms import second_groups

register = _RefRegistry._register


def register_once(self, definition):
    """eztrace defines groups twice: the first one counts."""
    if definition._ref not in self._elements_by_ref:
        register(self, definition)


_RefRegistry._register = register_once

ROOT_SELF, ROOT_NONE = 2**32 - 2, 2**32 - 3
FROM_ROOT = {"BCAST", "SCATTER", "SCATTERV"}
TO_ROOT = {"GATHER", "GATHERV", "REDUCE"}
LOWER_RANKS = {"SCAN", "EXSCAN"}
LENGTHS_VARY = {"GATHERV", "SCATTERV", "ALLGATHERV", "ALLTOALLV", "ALLTOALLW", "REDUCE_SCATTER"}
UNCERTAIN = {"ALLTOALLV", "ALLTOALLW", "CREATE_HANDLE", "DESTROY_HANDLE", "ALLOCATE", "DEALLOCATE",
             "CREATE_HANDLE_AND_ALLOCATE", "DESTROY_HANDLE_AND_DEALLOCATE"}

Part = collections.namedtuple("Part", "begin end op root sent received")


class Count:
    def __init__(self):
        self.messages = self.reversed = self.violating = self.error_sum = self.error_max = self.missing_max = 0

    def see(self, sent, received, latency):
        early = sent - received
        self.messages += 1
        if early > 0:
            self.reversed += 1
            self.error_sum += early
            self.error_max = max(self.error_max, early)
        if early + latency > 0:
            self.violating += 1
            self.missing_max = max(self.missing_max, early + latency)

    def facts(self):
        return {"messages": self.messages, "reversed": self.reversed, "violating": self.violating,
                "error_sum_ticks": float(self.error_sum), "error_max_ticks": self.error_max,
                "missing_max_ticks": self.missing_max}


def name_of(op):
    return str(op).split(".")[-1]


def host_of(process):
    return process.system_tree_parent


class Checker:
    def __init__(self, latency):
        self.latency = latency
        self.last = {}
        self.events = self.backward = 0
        self.sends = collections.defaultdict(list)  # channel: times, in order
        self.posted = collections.defaultdict(list)  # process: receives in posting order: [channel, time] or None
        self.requests = {}
        self.starts = collections.defaultdict(list)  # process: collectives in starting order
        self.blocking = {}
        self.on_windows = collections.Counter()
        self.parts = collections.defaultdict(dict)  # (communicator, window or None, number): {process: Part}
        self.handed = collections.defaultdict(lambda: ([], []))  # what threads hand over: (times given, times taken)
        self.counts = {"messages": Count(), "collectives": Count(), "uncertain": Count()}

    # ---- events ----

    def process_at(self, comm, mine, rank):
        """The other end of a message: of an intercommunicator in the other group."""
        members = comm.group.members
        if comm in second_groups and any(m.group is mine for m in members):
            members = second_groups[comm].members
        return members[rank].group

    def step(self, location, event):
        kind, process = type(event).__name__, location.group
        self.events += 1
        self.backward += event.time < self.last.get(location, 0)
        self.last[location] = event.time
        handler = getattr(self, "on_" + kind, None)
        if handler:
            handler(location, process, event)

    def on_MpiSend(self, location, process, event):
        to = self.process_at(event.communicator, process, event.receiver)
        self.sends[event.communicator, process, to, event.msg_tag].append((event.time, location))

    on_MpiIsend = on_MpiSend

    def received(self, location, process, event):
        source = self.process_at(event.communicator, process, event.sender)
        return (event.communicator, source, process, event.msg_tag), event.time, location

    def on_MpiRecv(self, location, process, event):
        self.posted[process].append(self.received(location, process, event))

    def on_MpiIrecvRequest(self, location, process, event):
        self.requests[process, event.request_id] = len(self.posted[process])
        self.posted[process].append(None)

    def on_MpiIrecv(self, location, process, event):
        place = self.requests.pop((process, event.request_id))
        self.posted[process][place] = self.received(location, process, event)

    def on_MpiCollectiveBegin(self, location, process, event):
        self.blocking[location] = len(self.starts[process])
        self.starts[process].append([event.time, None])

    def on_MpiCollectiveEnd(self, location, process, event):
        self.starts[process][self.blocking.pop(location)][1] = event

    def on_RmaCollectiveBegin(self, location, process, event):
        self.blocking[location, "window"] = event.time

    def on_RmaCollectiveEnd(self, location, process, event):
        begin = self.blocking.pop((location, "window"))
        number = self.on_windows[process, event.win] = self.on_windows[process, event.win] + 1
        self.parts[event.win.comm, event.win, number][process] = Part(
            begin, event.time, name_of(event.collective_op), event.root, event.bytes_sent, event.bytes_received)

    def on_NonBlockingCollectiveRequest(self, location, process, event):
        self.requests[process, event.request_id] = len(self.starts[process])
        self.starts[process].append([event.time, None])

    def on_NonBlockingCollectiveComplete(self, location, process, event):
        self.starts[process][self.requests.pop((process, event.request_id))][1] = event

    # ---- what threads of a process hand over, by a name that both say ----

    def on_ThreadCreate(self, location, process, event):
        self.handed[process, "begin", event.sequence_count][0].append(event.time)

    def on_ThreadBegin(self, location, process, event):
        self.handed[process, "begin", event.sequence_count][1].append(event.time)

    def on_ThreadEnd(self, location, process, event):
        self.handed[process, "end", event.sequence_count][0].append(event.time)

    def on_ThreadWait(self, location, process, event):
        self.handed[process, "end", event.sequence_count][1].append(event.time)

    def on_ThreadReleaseLock(self, location, process, event):
        self.handed[process, event.lock_id, event.acquisition_order][0].append(event.time)

    def on_ThreadAcquireLock(self, location, process, event):
        self.handed[process, event.lock_id, event.acquisition_order - 1][1].append(event.time)

    def count_handed(self):
        for given, taken in self.handed.values():
            for one in given:
                for other in taken:
                    self.counts["collectives"].see(one, other, 0)

    # ---- messages ----

    def count_messages(self):
        unmatched = 0
        channels = collections.defaultdict(list)
        for receives in self.posted.values():
            for receive in receives:
                if receive is not None:
                    channels[receive[0]].append(receive[1:])
        for channel in set(self.sends) | set(channels):
            sends, receives = self.sends[channel], channels[channel]
            unmatched += abs(len(sends) - len(receives))
            for (sent, sender), (received, receiver) in zip(sends, receives):
                far = host_of(sender.group) is not host_of(receiver.group)
                self.counts["messages"].see(sent, received, self.latency if far else 0)
        return unmatched

    # ---- collectives ----

    def number_collectives(self):
        for process, starts in self.starts.items():
            begun = collections.Counter()
            for begin, end in starts:
                if end is None:
                    continue
                comm = end.communicator
                self.parts[comm, None, begun[comm]][process] = Part(
                    begin, end.time, name_of(end.collective_op), end.root, end.size_sent, end.size_received)
                begun[comm] += 1

    def root_of(self, sides, parts):
        for number, side in enumerate(sides):
            for process in side:
                root = parts[process].root
                if root == ROOT_SELF:
                    return process
                if len(sides) == 1:
                    return side[root]
                if root != ROOT_NONE:
                    return sides[1 - number][root]

    def count_instance(self, comm, window, parts):
        sides = [[m.group for m in comm.group.members]]
        if comm in second_groups:
            sides.append([m.group for m in second_groups[comm].members])
        if sum(map(len, sides)) < 2:
            return
        members = [p for side in sides for p in side]
        if set(members) != set(parts):
            raise SystemExit(f"{comm.name}: an instance without all of its members")
        op = next(iter(parts.values())).op
        is_empty = op != "BARRIER" and not any(p.sent or p.received for p in parts.values())
        count = self.counts["uncertain" if window or is_empty or op in UNCERTAIN else "collectives"]
        root = self.root_of(sides, parts) if op in FROM_ROOT | TO_ROOT else None
        side_of = {p: n for n, side in enumerate(sides) for p in side}
        rank = {p: r for r, p in enumerate(members)}
        for giver in members:
            for getter in members:
                if giver is getter or (len(sides) == 2 and side_of[giver] == side_of[getter]):
                    continue
                if op in FROM_ROOT and giver is not root or op in TO_ROOT and getter is not root:
                    continue
                if op in LOWER_RANKS and rank[giver] > rank[getter]:
                    continue
                if op in LENGTHS_VARY and not (parts[giver].sent and parts[getter].received):
                    continue
                far = host_of(giver) is not host_of(getter)
                count.see(parts[giver].begin, parts[getter].end, self.latency if far else 0)

    def finish(self):
        unmatched = self.count_messages()
        self.number_collectives()
        self.count_handed()
        for (comm, window, _), parts in self.parts.items():
            self.count_instance(comm, window, parts)
        facts = {name: count.facts() for name, count in self.counts.items()}
        facts.update(events=self.events, backward=self.backward, unmatched=unmatched)
        facts["holds"] = not (facts["messages"]["violating"] or facts["collectives"]["violating"] or self.backward)
        return facts


def differences(mine, theirs, where=""):
    for name, value in mine.items():
        if isinstance(value, dict):
            yield from differences(value, theirs.get(name, {}), f"{where}{name}.")
        elif theirs.get(name) != value:
            yield f"{where}{name}: {value} by pairs, {theirs.get(name)} by gnomon"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    parser.add_argument("--latency", type=int, default=0, help="between hosts, in ticks")
    parser.add_argument("--compare", help="what gnomon check --format json has printed")
    arguments = parser.parse_args()
    checker = Checker(arguments.latency)
    with otf2.reader.open(arguments.trace) as trace:
        for location, event in trace.events:
            checker.step(location, event)
    facts = checker.finish()
    print(json.dumps(facts, indent=2))
    if arguments.compare:
        with open(arguments.compare) as file:
            wrong = list(differences(facts, json.load(file)))
        for line in wrong:
            print(line, file=sys.stderr)
        sys.exit(bool(wrong))


main()
