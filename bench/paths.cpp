/* Callers in C++ (paths.h): members, templates, and an exception that passes through frames every 16th time.
 */
#include "paths.h"

namespace
{

struct Unlucky {
    uint64_t route;
};

struct Guard { /* makes frames with something to clean up */
    explicit Guard(uint64_t &counter) : count(counter)
    {
        ++count;
    }
    ~Guard()
    {
        --count;
    }
    uint64_t &count;
};

uint64_t depth, made;

struct Exchange {
    PATHS_NOINLINE void call(uint64_t route) const
    {
        Guard guard(depth);
        int flag;
        paths_iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        PATHS_SITE(0);
        if (++made % 16 == 0)
            throw Unlucky{route};
    }
};

template <int Shift, class Next> struct Level {
    Next next;
    PATHS_NOINLINE void call(uint64_t route) const
    {
        Guard guard(depth);
        switch ((route >> Shift & 1) | (route >> (Shift + 1) & 2)) {
        case 0:
            next.call(route);
            PATHS_SITE(0);
            break;
        case 1:
            next.call(route);
            PATHS_SITE(1);
            break;
        case 2:
            next.call(route);
            PATHS_SITE(2);
            break;
        default:
            next.call(route);
            PATHS_SITE(3);
        }
    }
};

template <class Next> struct Catcher {
    Next next;
    PATHS_NOINLINE void call(uint64_t route) const
    {
        try {
            next.call(route);
            PATHS_SITE(0);
        } catch (const Unlucky &unlucky) {
            made += unlucky.route != route;
        }
    }
};

const Level<0, Level<4, Catcher<Level<8, Level<1, Exchange>>>>> callers{};

} // namespace

extern "C" void paths_cxx(uint64_t route)
{
    callers.call(route);
    PATHS_SITE(0);
}
