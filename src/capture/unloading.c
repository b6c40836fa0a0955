/*
 * capture/unloading — meets dlclose on its way. What is remembered of addresses has to go when they lose
 * their meaning, and nothing else tells in time that they do.
 *
 * In processes that are not measured, children among them, it only passes on: the loader's lock may be held
 * for ever in a child that was made while another thread had it.
 */
#include "capture/modules.h"
#include "capture/recorder.h"

#include <dlfcn.h>

__attribute__((visibility("default"))) int dlclose(void *handle)
{
    static int (*_Atomic real)(void *);
    if (!real)
        real = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    int result = real ? real(handle) : -1;
    if (!gn_is_closed())
        gn_modules_notice();
    return result;
}
