! Fortran 90 style (`use mpi`): a 2-D field split by columns, relaxed with a halo of one column.
!
! Each iteration: exchange_halo (Isend, Irecv, Waitall; MPI_PROC_NULL beyond the ends), relax, and an Allreduce in
! place of the largest change. At the end the pairs of ranks (Comm_split) add up their fields, and every rank
! hands its number to the right (Sendrecv, whose status is read).
program halo_usempi
    use mpi
    implicit none
    integer, parameter :: rows = 1500
    integer :: ierr, rank, ranks, iterations, columns, pair, i, end_status
    double precision, allocatable :: u(:, :), v(:, :)
    double precision :: change, total

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    call read_options(end_status)
    if (end_status >= 0) then
        call MPI_Finalize(ierr)
        if (end_status /= 0) stop 2
        stop
    end if
    call MPI_Bcast(iterations, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call MPI_Comm_split(MPI_COMM_WORLD, rank/2, rank, pair, ierr)

    columns = 2000/ranks
    allocate (u(rows, 0:columns + 1), v(rows, 0:columns + 1))
    u = 0
    u(1, :) = 100
    v = u
    change = 0
    do i = 1, iterations
        call exchange_halo()
        call relax()
        call MPI_Allreduce(MPI_IN_PLACE, change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    end do

    total = sum(u(:, 1:columns))
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, pair, ierr)
    if (rank == 0) print '(a,i0,a,f12.8,a,f14.4)', 'halo_usempi: ', iterations, ' iterations, change', change, &
        ', sum of the first pair', total
    call check_ring()
    call MPI_Comm_free(pair, ierr)
    call MPI_Finalize(ierr)

contains

    subroutine exchange_halo()
        integer :: requests(4), lower, upper
        lower = merge(MPI_PROC_NULL, rank - 1, rank == 0)
        upper = merge(MPI_PROC_NULL, rank + 1, rank == ranks - 1)
        call MPI_Irecv(u(:, 0), rows, MPI_DOUBLE_PRECISION, lower, 1, MPI_COMM_WORLD, requests(1), ierr)
        call MPI_Irecv(u(:, columns + 1), rows, MPI_DOUBLE_PRECISION, upper, 2, MPI_COMM_WORLD, requests(2), ierr)
        call MPI_Isend(u(:, columns), rows, MPI_DOUBLE_PRECISION, upper, 1, MPI_COMM_WORLD, requests(3), ierr)
        call MPI_Isend(u(:, 1), rows, MPI_DOUBLE_PRECISION, lower, 2, MPI_COMM_WORLD, requests(4), ierr)
        call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
    end subroutine

    ! Inner rows of all own columns, the outermost columns of the whole field excepted.
    subroutine relax()
        integer :: first, last, x, y
        first = merge(2, 1, rank == 0)
        last = merge(columns - 1, columns, rank == ranks - 1)
        change = 0
        do x = first, last
            do y = 2, rows - 1
                v(y, x) = 0.25d0*(u(y - 1, x) + u(y + 1, x) + u(y, x - 1) + u(y, x + 1))
                change = max(change, abs(v(y, x) - u(y, x)))
            end do
        end do
        u(2:rows - 1, first:last) = v(2:rows - 1, first:last)
    end subroutine

    subroutine check_ring()
        integer :: status(MPI_STATUS_SIZE), left, right, arrived, length
        right = mod(rank + 1, ranks)
        left = mod(rank + ranks - 1, ranks)
        call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 3, arrived, 1, MPI_INTEGER, left, MPI_ANY_TAG, &
                          MPI_COMM_WORLD, status, ierr)
        call MPI_Get_count(status, MPI_INTEGER, length, ierr)
        if (arrived /= left .or. status(MPI_SOURCE) /= left .or. status(MPI_TAG) /= 3 .or. length /= 1) then
            print *, 'halo_usempi: rank', rank, ': wrong status', status
            call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
        end if
    end subroutine

    ! --iterations N, --help. Gives -1 to go on, else the status to end with.
    subroutine read_options(end_status)
        integer, intent(out) :: end_status
        character(64) :: name, value
        integer :: problem
        iterations = 120
        end_status = -1
        if (command_argument_count() == 0) return
        call get_command_argument(1, name)
        call get_command_argument(2, value)
        if (name == '--help') then
            if (rank == 0) print '(a)', 'usage: halo_usempi [--iterations N]'
            end_status = 0
            return
        end if
        read (value, *, iostat=problem) iterations
        if (name == '--iterations' .and. problem == 0 .and. iterations >= 0 .and. command_argument_count() == 2) return
        if (rank == 0) write (0, '(5a)') 'halo_usempi: bad option ', trim(name), ' ', trim(value), ' (see --help)'
        end_status = 2
    end subroutine

end program
