#include "base/error.h"

#include "base/printable.h"

#include <stdarg.h>
#include <stdio.h>

int gn_fail(struct gn_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        gn_printable(err->text);
    }
    return code;
}
