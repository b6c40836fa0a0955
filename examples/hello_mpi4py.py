#!/usr/bin/python3
"""MPI from Python (mpi4py): buffers without numpy, and pickled objects.

Run as `mpirun -n 4 python3 hello_mpi4py.py`, with the MPI that mpi4py was built for. Results are the same in
every run; the functions that communicate are reduce_buffers() and exchange_objects().
"""

import argparse
import array
import sys

from mpi4py import MPI


class Parser(argparse.ArgumentParser):
    """Complains on rank 0 only; ends with 2 on all."""

    def _print_message(self, message, file=None):
        if MPI.COMM_WORLD.rank == 0:
            super()._print_message(message, file)


def compute(values):
    """Some work, in place."""
    for i, value in enumerate(values):
        values[i] = 0.5 * value + 1.0


def reduce_buffers(comm, values):
    """The element-wise sum over all ranks, of an array and of a bytearray."""
    total = array.array("d", bytes(8 * len(values)))
    comm.Allreduce([values, MPI.DOUBLE], [total, MPI.DOUBLE], op=MPI.SUM)
    ones, count = bytearray([1]), bytearray(1)
    comm.Allreduce([ones, MPI.BYTE], [count, MPI.BYTE], op=MPI.BOR)
    return sum(total) * count[0]


def exchange_objects(comm, iteration):
    """Sends a dict to the right neighbour, receives one from the left; returns its checked number."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    request = comm.isend({"from": comm.rank, "iteration": iteration}, dest=right, tag=7)
    status = MPI.Status()
    letter = comm.recv(source=MPI.ANY_SOURCE, tag=7, status=status)
    request.wait()
    if letter != {"from": left, "iteration": iteration} or status.Get_source() != left:
        raise RuntimeError(f"rank {comm.rank}: unexpected {letter} from {status.Get_source()}")
    return letter["from"]


def iterate(comm, iterations, count):
    values = array.array("d", (float(comm.rank + i) for i in range(count)))
    total, senders = 0.0, 0
    for iteration in range(iterations):
        compute(values)
        total = reduce_buffers(comm, values)
        senders += exchange_objects(comm, iteration)
    return total, comm.reduce(senders, root=0)


def number(text):
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def main():
    parser = Parser(description="Sums buffers and exchanges objects by mpi4py.")
    parser.add_argument("--iterations", type=number, default=100, metavar="N", help="iterations (100)")
    parser.add_argument("--count", type=number, default=50000, metavar="N", help="numbers of each rank (50000)")
    options = parser.parse_args()
    comm = MPI.COMM_WORLD
    total, senders = iterate(comm, options.iterations, options.count)
    if comm.rank == 0:
        print(f"hello_mpi4py: {options.iterations} iterations, sum {total:.3f}, senders {senders}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
