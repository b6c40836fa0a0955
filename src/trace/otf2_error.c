#include "trace/otf2_error.h"

#include <otf2/otf2.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char complaint[512];

static OTF2_ErrorCode keep(void *self, const char *file, uint64_t line, const char *function,
                           OTF2_ErrorCode code, const char *format, va_list arguments)
{
    (void)self, (void)file, (void)line, (void)function;
    if (complaint[0])
        return code;
    int length = snprintf(complaint, sizeof complaint, "%s: ", OTF2_Error_GetDescription(code));
    if (length > 0 && (size_t)length < sizeof complaint)
        vsnprintf(complaint + length, sizeof complaint - (size_t)length, format, arguments);
    for (size_t end = strlen(complaint); end && strchr(".!\n ", complaint[end - 1]); end--)
        complaint[end - 1] = '\0';
    return code;
}

static void install(void)
{
    OTF2_Error_RegisterCallback(keep, NULL);
}

void gn_otf2_catch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    gn_otf2_forget();
}

void gn_otf2_forget(void)
{
    complaint[0] = '\0';
}

int gn_otf2_fail(struct gn_error *err, int code, const char *doing)
{
    return gn_fail(err, code, "%s: %s", doing, complaint[0] ? complaint : "the OTF2 library gave no reason");
}
