/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Packets that pass whatever the rules say, and the records of drops. */
#ifndef PORTCULLIS_DROPS_H
#define PORTCULLIS_DROPS_H

#include "counting.h"

/* ICMP errors come from any router on the path, and neighbour discovery must always work. */
INLINE int is_icmp_message(const struct packet *p)
{
	if (p->protocol == ICMP)
		return p->icmp != 8 && p->icmp != 0;
	if (p->protocol == ICMPV6)
		return p->icmp != 128 && p->icmp != 129;
	return 0;
}

/* Management ports pass for every address: only nftables knows the addresses of the edge host. */
INLINE int is_management(const struct settings *s, const struct packet *p)
{
	u32 key = key_of(p);
	if (!(key & KEY_HAS_PORT))
		return 0;
	if (LIKELY(!(s->flags & MANY_MANAGED))) {
		for (u32 i = 0; i < MANAGED_PORTS && i < s->managed_count; i++)
			if (s->managed[i] == key)
				return 1;
		return 0;
	}
	u32 port = key & 0xffff;
	u32 place = (p->protocol == UDP ? 1024 : 0) + (port >> 6);
	u64 *ports = bpf_map_lookup_elem(&management, &place);
	return !ports || (*ports >> (port & 63)) & 1;
}

/* DHCP clients use packet sockets, which nftables rules do not affect. So DHCP replies pass here too. */
INLINE int is_dhcp(const struct packet *p)
{
	if (p->protocol != UDP)
		return 0;
	return p->family == 4 ? p->local_port == NETWORK_16(68) && p->remote_port == NETWORK_16(67)
			      : p->local_port == NETWORK_16(546) && p->remote_port == NETWORK_16(547);
}

INLINE void keep_sample(void *ctx, enum hook hook, u32 slot, u32 reason, u32 length)
{
	struct sample *sample = bpf_ringbuf_reserve(&samples, sizeof(*sample), 0);
	if (!sample)
		return;
	u32 captured = length < SAMPLE_BYTES ? length : SAMPLE_BYTES;
	sample->at = bpf_ktime_get_ns();
	sample->ifindex = ifindex_of(ctx, hook);
	sample->slot = slot;
	sample->length = length;
	sample->captured = captured;
	sample->reason = reason;
	sample->unused = 0;
	captured = bounded(captured, 128);
	if (captured < 14 || (hook == AT_XDP ? bpf_xdp_load_bytes(ctx, 0, sample->packet, captured)
					     : bpf_skb_load_bytes(ctx, 0, sample->packet, captured))) {
		bpf_ringbuf_discard(sample, 0);
		return;
	}
	bpf_ringbuf_submit(sample, 0);
}

/* `place`: the index, reason by reason with `slots` entries each. */
INLINE struct counter *counter_at(u32 place)
{
	u32 value = place / COUNTERS_IN_VALUE;
	struct counters *counters_there = bpf_map_lookup_elem(&counters, &value);
	return counters_there ? &counters_there->of[bounded(place, COUNTERS_IN_VALUE)] : 0;
}

/* Returns whether the packet is one of those whose vector is counted. */
INLINE int count(void *ctx, enum hook hook, const struct settings *s, struct counter *counter, u32 place)
{
	u32 length = hook == AT_XDP ? end_of(ctx, hook) - data_of(ctx, hook) : length_of(ctx, hook);
	u32 packets = packets_in(ctx, hook);
	u32 nth = counter->packets;
	u32 before = nth % SAMPLE_EVERY;
	counter->packets += packets;
	counter->bytes += length;
	if (UNLIKELY(!before || before + packets > SAMPLE_EVERY) && s->slots)
		keep_sample(ctx, hook, place % s->slots, place / s->slots, length);
	/* Multiples of the golden ratio are spread evenly, whatever period the packets of a flood have. */
	return !((u64)(nth * GOLDEN) >> (32 - (counting_now.vector_shift & 31)));
}

#endif
