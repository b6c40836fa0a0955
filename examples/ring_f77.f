C     Fortran 77 style (fixed form, include 'mpif.h'): a chain of ranks
C     and a ring.
C
C     Each iteration: the chain's ends exchange one number with their
C     neighbours (Isend, Irecv, Waitall; beyond the ends there is
C     MPI_PROC_NULL), tokens go round the ring (Sendrecv, whose status
C     is read), a relaxation is computed, and all agree on its largest
C     change (Allreduce in place).  One type per MPI routine, since
C     mpif.h has no interfaces.
      program ring
      implicit none
      include 'mpif.h'
      integer nmax
      parameter (nmax = 500000)
      integer ierr, rank, nranks, niter, i, row, stopat
      double precision u(0:nmax+1), v(0:nmax+1), change, token
      common /field/ u, v

      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, nranks, ierr)
      call rdopts(rank, niter, stopat)
      if (stopat .ge. 0) then
          call MPI_FINALIZE(ierr)
          if (stopat .ne. 0) stop 2
          stop
      end if
C     Rank 0 decides.
      call MPI_BCAST(niter, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
C     Even and odd ranks apart, for the sum of tokens.
      call MPI_COMM_SPLIT(MPI_COMM_WORLD, mod(rank, 2), rank, row,
     &                    ierr)

      do 10 i = 0, nmax + 1
          u(i) = dble(mod(i * 7 + rank, 1000))
          v(i) = u(i)
   10 continue
      token = dble(rank)
      change = 0.0d0
      do 20 i = 1, niter
          call halo(u, nmax, rank, nranks)
          call pass(token, rank, nranks)
          call relax(u, v, nmax, change)
          call MPI_ALLREDUCE(MPI_IN_PLACE, change, 1,
     &        MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
   20 continue
      call MPI_ALLREDUCE(MPI_IN_PLACE, token, 1,
     &    MPI_DOUBLE_PRECISION, MPI_SUM, row, ierr)
      if (rank .eq. 0) then
          write (*, '(A,I0,A,F12.6,A,F6.1)') 'ring_f77: ', niter,
     &        ' iterations, change', change, ', tokens', token
      end if
      call MPI_COMM_FREE(row, ierr)
      call MPI_FINALIZE(ierr)
      end

C     One number to and from each neighbour of the chain.
      subroutine halo(u, n, rank, nranks)
      implicit none
      include 'mpif.h'
      integer n, rank, nranks, lower, upper, ierr, req(4)
      double precision u(0:n+1)
      lower = rank - 1
      upper = rank + 1
      if (rank .eq. 0) lower = MPI_PROC_NULL
      if (rank .eq. nranks - 1) upper = MPI_PROC_NULL
      call MPI_IRECV(u(0), 1, MPI_DOUBLE_PRECISION, lower, 1,
     &               MPI_COMM_WORLD, req(1), ierr)
      call MPI_IRECV(u(n+1), 1, MPI_DOUBLE_PRECISION, upper, 2,
     &               MPI_COMM_WORLD, req(2), ierr)
      call MPI_ISEND(u(n), 1, MPI_DOUBLE_PRECISION, upper, 1,
     &               MPI_COMM_WORLD, req(3), ierr)
      call MPI_ISEND(u(1), 1, MPI_DOUBLE_PRECISION, lower, 2,
     &               MPI_COMM_WORLD, req(4), ierr)
      call MPI_WAITALL(4, req, MPI_STATUSES_IGNORE, ierr)
      end

C     The token moves to the right; the status must say from where.
      subroutine pass(token, rank, nranks)
      implicit none
      include 'mpif.h'
      integer rank, nranks, right, left, count, ierr
      integer status(MPI_STATUS_SIZE)
      double precision token, arrived
      right = mod(rank + 1, nranks)
      left = mod(rank + nranks - 1, nranks)
      call MPI_SENDRECV(token, 1, MPI_DOUBLE_PRECISION, right, 3,
     &    arrived, 1, MPI_DOUBLE_PRECISION, left, MPI_ANY_TAG,
     &    MPI_COMM_WORLD, status, ierr)
      call MPI_GET_COUNT(status, MPI_DOUBLE_PRECISION, count, ierr)
      if (status(MPI_SOURCE) .ne. left .or. status(MPI_TAG) .ne. 3
     &    .or. count .ne. 1) then
          write (*, *) 'ring_f77: rank', rank, ': wrong status', status
          call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
      end if
      token = arrived
      end

      subroutine relax(u, v, n, change)
      implicit none
      integer n, i
      double precision u(0:n+1), v(0:n+1), change
      change = 0.0d0
      do 10 i = 1, n
          v(i) = 0.25d0 * u(i-1) + 0.5d0 * u(i) + 0.25d0 * u(i+1)
   10 continue
      do 20 i = 1, n
          change = max(change, abs(v(i) - u(i)))
          u(i) = v(i)
   20 continue
      end

C     --iterations N, --help.  stopat: -1 to go on, else the status to
C     end with.
      subroutine rdopts(rank, niter, stopat)
      implicit none
      integer rank, niter, stopat, ios
      character*64 arg, val
      niter = 200
      stopat = -1
      if (command_argument_count() .eq. 0) return
      call get_command_argument(1, arg)
      call get_command_argument(2, val)
      if (arg .eq. '--help') then
          if (rank .eq. 0) write (*, '(A)')
     &        'usage: ring_f77 [--iterations N]'
          stopat = 0
          return
      end if
      read (val, *, iostat=ios) niter
      if (arg .eq. '--iterations' .and. ios .eq. 0 .and. niter .ge. 0
     &    .and. command_argument_count() .eq. 2) return
      if (rank .eq. 0) write (0, '(4A)') 'ring_f77: bad option ',
     &    trim(arg), ' ', trim(val) // ' (see --help)'
      stopat = 2
      end
