/*
 * capture/old_glibc — lets this library be loaded by C libraries from glibc 2.28 on, whichever it is built
 * with.
 *
 * A container's program runs with the container's C library, and refuses a preloaded library that asks for
 * symbols of a newer one. glibc 2.33 and 2.34 gave old functions new versions without changing what they do:
 * fstat became a function of its own, libdl's and libpthread's moved into libc. The linker sends our calls
 * here (--wrap), ours and those of the unwinder that is linked in, and from here they go to the old versions,
 * which every later glibc still has.
 *
 * In a glibc before 2.34 these are in libdl, which is therefore named as needed (a glibc that has none of it
 * any more has an empty one), and in libpthread: whoever has not loaded that has no threads, and the weak
 * references are NULL. tests/e2e/old_glibc.sh holds the versions against 2.28.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST_GLIBC "GLIBC_2.17"
#else
#error "which version had the first glibc of this processor?"
#endif

#define OLD(own, name) __asm__(".symver " #own "," #name "@" FIRST_GLIBC)

void *gn_old_dlopen(const char *path, int flags);
void *gn_old_dlsym(void *library, const char *name);
int gn_old_dlclose(void *library);
int gn_old_dladdr(const void *address, Dl_info *info);
int gn_old_key_create(pthread_key_t *key, void (*at_end)(void *)) __attribute__((weak));
int gn_old_setspecific(pthread_key_t key, const void *value) __attribute__((weak));
OLD(gn_old_dlopen, dlopen);
OLD(gn_old_dlsym, dlsym);
OLD(gn_old_dlclose, dlclose);
OLD(gn_old_dladdr, dladdr);
OLD(gn_old_key_create, pthread_key_create);
OLD(gn_old_setspecific, pthread_setspecific);

void *__wrap_dlopen(const char *path, int flags);
void *__wrap_dlsym(void *library, const char *name);
int __wrap_dlclose(void *library);
int __wrap_dladdr(const void *address, Dl_info *info);
int __wrap_pthread_key_create(pthread_key_t *key, void (*at_end)(void *));
int __wrap___pthread_key_create(pthread_key_t *key, void (*at_end)(void *));
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_once(pthread_once_t *once, void (*function)(void));
int __wrap_fstat(int file, struct stat *info);

void *__wrap_dlopen(const char *path, int flags)
{
    return gn_old_dlopen(path, flags);
}

void *__wrap_dlsym(void *library, const char *name)
{
    return gn_old_dlsym(library, name); /* RTLD_NEXT is next to this library: the caller is in it, too */
}

int __wrap_dlclose(void *library)
{
    return gn_old_dlclose(library);
}

int __wrap_dladdr(const void *address, Dl_info *info)
{
    return gn_old_dladdr(address, info);
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*at_end)(void *))
{
    return gn_old_key_create ? gn_old_key_create(key, at_end) : ENOSYS;
}

/* The unwinder only looks whether there is such a function, to know whether there may be threads. */
int __wrap___pthread_key_create(pthread_key_t *key, void (*at_end)(void *))
{
    return __wrap_pthread_key_create(key, at_end);
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    return gn_old_setspecific ? gn_old_setspecific(key, value) : ENOSYS;
}

/* The unwinder's alone, which fills in a constant table itself when it is refused. */
int __wrap_pthread_once(pthread_once_t *once, void (*function)(void))
{
    (void)once;
    (void)function;
    return ENOSYS;
}

/* The kernel's structure is glibc's on these processors. */
int __wrap_fstat(int file, struct stat *info)
{
    return (int)syscall(SYS_fstat, file, info);
}
