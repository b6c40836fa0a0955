/* exchange/addresses — where this host can be asked. */
#include "exchange/addresses.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

static void add_v4(struct gn_endpoint *e, const struct sockaddr_in *a)
{
    e->addresses[e->address_count].family = 4;
    memcpy(e->addresses[e->address_count++].bytes, &a->sin_addr, 4);
}

static void add_v6(struct gn_endpoint *e, const struct sockaddr_in6 *a)
{
    e->addresses[e->address_count].family = 6;
    memcpy(e->addresses[e->address_count++].bytes, &a->sin6_addr, 16);
}

static void add(struct gn_endpoint *e, const struct ifaddrs *i, bool only_v4)
{
    const void *address = i->ifa_addr;
    const struct sockaddr_in6 *v6 = address;
    if (e->address_count >= GN_ENDPOINT_ADDRESSES)
        return;
    if (i->ifa_addr->sa_family == AF_INET)
        add_v4(e, address);
    else if (i->ifa_addr->sa_family == AF_INET6 && !only_v4 && !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
        add_v6(e, v6);
}

int gn_addresses_find(struct gn_endpoint *e, bool only_v4, struct gn_error *err)
{
    struct ifaddrs *all;
    e->address_count = 0;
    memset(e->addresses, 0, sizeof e->addresses);
    if (getifaddrs(&all) != 0)
        return gn_fail(err, -errno, "cannot list this host's network addresses: %s", strerror(errno));
    for (unsigned loopback = 0; loopback <= IFF_LOOPBACK; loopback += IFF_LOOPBACK)
        for (const struct ifaddrs *i = all; i; i = i->ifa_next)
            if (i->ifa_addr && (i->ifa_flags & IFF_UP) && (i->ifa_flags & IFF_LOOPBACK) == loopback)
                add(e, i, only_v4);
    freeifaddrs(all);
    return e->address_count ? 0
                            : gn_fail(err, -EADDRNOTAVAIL,
                                      "no network interface of this host is up, not even the loopback");
}

static void map_v4(struct in6_addr *to, const uint8_t bytes[4])
{
    to->s6_addr[10] = to->s6_addr[11] = 0xff;
    memcpy(to->s6_addr + 12, bytes, 4);
}

bool gn_addresses_peer(const struct gn_endpoint *e, unsigned index, bool only_v4,
                       struct gn_exchange_peer *peer)
{
    if (index >= e->address_count || index >= GN_ENDPOINT_ADDRESSES)
        return false;
    memset(peer, 0, sizeof *peer);
    peer->address.sin6_family = AF_INET6;
    peer->address.sin6_port = htons(e->port);
    if (e->addresses[index].family == 4)
        map_v4(&peer->address.sin6_addr, e->addresses[index].bytes);
    else if (e->addresses[index].family == 6 && !only_v4)
        memcpy(&peer->address.sin6_addr, e->addresses[index].bytes, 16);
    else
        return false;
    return true;
}

const char *gn_addresses_text(const struct gn_endpoint *e, unsigned index, char text[GN_ADDRESS_TEXT])
{
    char address[INET6_ADDRSTRLEN] = "no address";
    bool v6 = index < e->address_count && e->addresses[index].family == 6;
    if (index < e->address_count)
        inet_ntop(v6 ? AF_INET6 : AF_INET, e->addresses[index].bytes, address, sizeof address);
    snprintf(text, GN_ADDRESS_TEXT, v6 ? "[%s]:%u" : "%s:%u", address, (unsigned)e->port);
    return text;
}
