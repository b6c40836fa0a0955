"""late_sender.c in Python: rank 0 computes before it sends what rank 1 waits for, who computes only then."""
import sys
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
mended = sys.argv[1:] == ["mended"]


def work():
    time.sleep(0.005)


world.Barrier()
began = MPI.Wtime()
for step in range(100):
    if world.rank == 0:
        if mended:
            world.send(step, 1)
        work()
        if not mended:
            world.send(step, 1)
    else:
        world.recv(source=0)  # here
        work()
    world.Barrier()
if world.rank == 0:
    print(f"{MPI.Wtime() - began:.6f}")
