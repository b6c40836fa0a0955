! pipeline.c in Fortran: each rank needs what the one before has computed, and all meet after it. Mended: blocks an
! eighth as large.
program pipeline
  use mpi
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function usleep(us) bind(c, name='usleep')
      import :: c_int
      integer(c_int), value :: us
    end function
  end interface
  integer :: ierror, rank, ranks, step, block, blocks, status(MPI_STATUS_SIZE)
  integer(c_int) :: ignored
  double precision :: value, began
  character(len=16) :: how = ''
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  if (command_argument_count() > 0) call get_command_argument(1, how)
  blocks = merge(8, 1, how == 'mended')
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  began = MPI_Wtime()
  do step = 1, 40
    value = step
    do block = 1, blocks
      if (rank > 0) call MPI_Recv(value, 1, MPI_DOUBLE_PRECISION, rank - 1, 1, MPI_COMM_WORLD, status, ierror) ! here
      ignored = usleep(int(8000 / blocks, c_int))
      if (rank < ranks - 1) call MPI_Send(value, 1, MPI_DOUBLE_PRECISION, rank + 1, 1, MPI_COMM_WORLD, ierror)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end do
  if (rank == 0) print '(f0.6)', MPI_Wtime() - began
  call MPI_Finalize(ierror)
end program
