/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef PORTCULLIS_FLOWS_H
#define PORTCULLIS_FLOWS_H

#include "packet.h"

/*
 * The marks of flows that the protected side opened: times in a table indexed by a hash of both directions. Nothing is
 * evicted. Flows with the same index share a mark, so a reply is never dropped by mistake; a collision only leaves a
 * packet to nftables. flows/mark-keys.ts has the same hash.
 */
INLINE u32 mixed(u32 hash, u32 value)
{
	hash = (hash ^ value) * 0x85ebca6bu;
	return hash ^ hash >> 15;
}

/* The index is the low bits, so every input bit must affect them. */
INLINE u32 finished(u32 hash)
{
	hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
	return hash ^ hash >> 16;
}

INLINE u32 address_hash(const struct packet *p)
{
	return p->family == 4 ? address_hash_4(p->local) : address_hash_6(p->local);
}

INLINE u32 host_place(u32 address_hash)
{
	return address_hash >> (32 - HOST_BITS);
}

INLINE u32 flow_hash(const struct packet *p, u32 seed)
{
	u32 hash = mixed(seed ^ p->protocol, p->local[0]);
	hash = mixed(hash, p->remote[0]);
	if (p->family == 6)
		for (int i = 1; i < 4; i++) {
			hash = mixed(hash, p->local[i]);
			hash = mixed(hash, p->remote[i]);
		}
	if (p->protocol == TCP || p->protocol == UDP)
		hash = mixed(hash, (u32)p->local_port << 16 | p->remote_port);
	return finished(hash);
}

INLINE u32 flow_place(const struct packet *p, u32 seed)
{
	return flow_hash(p, seed) & (FLOW_MARKS - 1);
}

INLINE u32 now_seconds(void)
{
	return bpf_ktime_get_coarse_ns() / 1000000000ull + 1;
}

INLINE u32 remembered(const struct settings *s, u8 protocol)
{
	return protocol == TCP ? s->remember_tcp : protocol == UDP ? s->remember_udp : s->remember_other;
}

/* Whether the packet may be a reply. A packet that passes as a reply renews the mark, as in conntrack. */
INLINE int may_be_reply(const struct settings *s, const struct packet *p)
{
	if (!(s->flags & KEEP_REPLIES))
		return 0;
	/*
	 * Then every packet except one that opens a connection may be a reply. A simultaneous SYN of both sides is
	 * recognised below.
	 */
	if (!(s->flags & FLOWS_COMPLETE))
		return p->protocol != TCP || (p->flags & (TCP_SYN | TCP_ACK)) != TCP_SYN;
	if (!hosts[host_place(address_hash(p))])
		return 0;
	u32 place = flow_place(p, s->seed);
	u32 *flow = bpf_map_lookup_elem(&flow_marks, &place);
	if (!flow || !*flow)
		return 0;
	u32 now = now_seconds();
	/* The clock of the agent may be some milliseconds ahead. */
	if ((int)(now - *flow) > (int)remembered(s, p->protocol))
		return 0;
	if (p->protocol != TCP && *flow != now)
		*flow = now;
	return 1;
}

#endif
