// MPI's C interface called from C++: from a template's member function, from a lambda, from a destructor.
//
// The names a tool should show: Ring<double>::pass, Ring<long>::pass, the lambda in main.
#define OMPI_SKIP_MPICXX // the C interface only, not the C++ one of MPI 2
#define MPICH_SKIP_MPICXX
#include <cstdio>
#include <mpi.h>
#include <numeric>
#include <vector>
#include "options.h"

template <typename T> struct MpiType;
template <> struct MpiType<double> {
    static MPI_Datatype get()
    {
        return MPI_DOUBLE;
    }
};
template <> struct MpiType<long> {
    static MPI_Datatype get()
    {
        return MPI_LONG;
    }
};

// A communicator of its own, and numbers that go round on it.
template <typename T> class Ring
{
  public:
    Ring(std::size_t count) : values_(count)
    {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &size_);
        std::iota(values_.begin(), values_.end(), static_cast<T>(rank_));
    }
    ~Ring()
    {
        MPI_Comm_free(&comm_);
    }
    Ring(const Ring &) = delete;
    Ring &operator=(const Ring &) = delete;

    // Every rank's numbers move on to its right neighbour.
    __attribute__((noinline)) void pass()
    {
        MPI_Sendrecv_replace(values_.data(), static_cast<int>(values_.size()), MpiType<T>::get(),
                             (rank_ + 1) % size_, 0, (rank_ + size_ - 1) % size_, 0, comm_,
                             MPI_STATUS_IGNORE);
    }

    T sum() const
    {
        return std::accumulate(values_.begin(), values_.end(), T{});
    }

  private:
    std::vector<T> values_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1;
};

// Some work between the messages; what it returns is printed.
template <typename F> static double repeat(long iterations, F step)
{
    double last = 0;
    for (long i = 0; i < iterations; i++)
        last = step(i);
    return last;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long iterations = 200, count = 10000;
    const option_spec specs[] = {{OPTION_NUMBER, "iterations", &iterations, 0, 1e9, 0, "rounds"},
                                 {OPTION_NUMBER, "count", &count, 1, 1e8, 0, "numbers that go round"},
                                 {OPTION_END, nullptr, nullptr, 0, 0, 0, nullptr}};
    int stop =
        options_read(argc, argv, "[OPTION]...", "Numbers go round in two rings.", specs, nullptr, rank == 0);
    if (stop == OPTIONS_RUN) {
        stop = 0;
        Ring<double> reals(static_cast<std::size_t>(count));
        Ring<long> integers(static_cast<std::size_t>(count));
        double total = repeat(iterations, [&](long) {
            reals.pass();
            integers.pass();
            double mine = reals.sum() + static_cast<double>(integers.sum()), all = 0;
            MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            return all;
        });
        if (rank == 0)
            std::printf("hello_cxx: %ld rounds of %ld numbers, sum %.1f\n", iterations, count, total);
    }
    MPI_Finalize();
    return stop;
}
