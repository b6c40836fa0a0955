#include "event/event.h"

const char *gn_event_name(unsigned kind)
{
    static const char *const names[] = {
#define X(KIND, name) #name,
        GN_EVENT_KINDS(X)
#undef X
    };
    return kind < GN_EVENT_KIND_COUNT ? names[kind] : "unknown";
}
