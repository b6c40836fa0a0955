#include "trace/otf2_error.h"

#include <otf2/otf2.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char first[256];

static OTF2_ErrorCode keep(void *user, const char *file, uint64_t line, const char *function,
                           OTF2_ErrorCode code, const char *format, va_list arguments)
{
    (void)user, (void)file, (void)line, (void)function;
    if (first[0])
        return code;
    char text[160] = "";
    if (format)
        vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    snprintf(first, sizeof first, "%s%s%s", OTF2_Error_GetDescription(code), text[0] ? ": " : "", text);
    return code;
}

void gn_otf2_errors_catch(void)
{
    OTF2_Error_RegisterCallback(keep, NULL);
}

void gn_otf2_error_forget(void)
{
    first[0] = '\0';
}

const char *gn_otf2_error_text(void)
{
    return first[0] ? first : "no reason given";
}
