/* exchange/addresses — where this host can be asked, and how an endpoint's addresses are written and sent to.
 */
#ifndef GNOMON_EXCHANGE_ADDRESSES_H
#define GNOMON_EXCHANGE_ADDRESSES_H

#include "exchange/endpoint.h"
#include "exchange/stamped_socket.h"

enum { GN_ADDRESS_TEXT = 64 };

/* Of the interfaces that are up; loopback addresses come last: two agents may be on one machine. What does
 * not fit into the endpoint, and what only counts on one link, is left out. Errors: negative errno. */
int gn_addresses_find(struct gn_endpoint *endpoint, bool only_v4, struct gn_error *err);

/* False: there is no such address, or this socket cannot send to it. */
bool gn_addresses_peer(const struct gn_endpoint *endpoint, unsigned index, bool only_v4,
                       struct gn_exchange_peer *peer);

/* "10.77.0.2:41234", "[fd00::1]:41234" */
const char *gn_addresses_text(const struct gn_endpoint *endpoint, unsigned index, char text[GN_ADDRESS_TEXT]);

#endif
