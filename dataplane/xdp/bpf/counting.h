/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Counts packets to watched destinations, by vector where the agent requests it. Decides nothing. */
#ifndef PORTCULLIS_COUNTING_H
#define PORTCULLIS_COUNTING_H

#include "packet.h"

#define GRE 47
/* TCP flags. A combination that no connection has is `tcp_other`. */
#define TCP_FIN 1
#define TCP_RST 4
#define TCP_PSH 8
#define EVALUATED_FLAGS (TCP_FIN | TCP_SYN | TCP_RST | TCP_PSH | TCP_ACK)
/* Longer segments belong to a transfer. */
#define DATA_BYTES 256

/* `VECTORS` of core/attacks/vectors.ts. */
enum vector {
	V_TCP_SYN,
	V_TCP_SYN_ACK,
	V_TCP_ACK,
	V_TCP_DATA,
	V_TCP_RST,
	V_TCP_OTHER,
	V_UDP,
	V_CHARGEN,
	V_DNS,
	V_PORTMAP,
	V_NTP,
	V_NETBIOS,
	V_SNMP,
	V_CLDAP,
	V_RIP,
	V_MSSQL,
	V_SSDP,
	V_WSD,
	V_COAP,
	V_MEMCACHED,
	V_ICMP,
	V_GRE,
	V_FRAGMENT,
	V_FRAGMENT_FIRST,
	V_OTHER,
	V_ARMS,
	V_PLEX,
	V_END,
};
_Static_assert(V_END == VECTORS, "layout.h knows as many vectors");

enum part { WHOLE, FIRST_PART, LATER_PART };

/* A packet to count. Unlike `struct packet`, it may be one that the programs cannot evaluate. */
struct seen {
	u32 local[4], remote[4];
	/* From the IP header on. */
	u32 length;
	u16 family;
	/* Host order; TCP and UDP only. */
	u16 remote_port, local_port;
	u8 protocol, flags, part;
	/* Where the network header begins. */
	u16 network;
	/* 1, unless the kernel has merged several. */
	u32 packets;
	/* The XDP action of the packet. */
	int action;
};

MAP(seen_now, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct seen), 1, 0);

/*
 * Returns a cleared packet. It is in a map, not on the stack: some verifiers track values on the stack, and then
 * follow every path through all headers to the end, and give up.
 */
INLINE struct seen *begin_seen(void)
{
	u32 first = 0;
	struct seen *p = bpf_map_lookup_elem(&seen_now, &first);
	if (p)
		__builtin_memset(p, 0, sizeof(*p));
	return p;
}

INLINE u32 tcp_vector(u32 flags, u32 length)
{
	flags &= EVALUATED_FLAGS;
	if (flags == TCP_SYN)
		return V_TCP_SYN;
	if (flags == (TCP_SYN | TCP_ACK))
		return V_TCP_SYN_ACK;
	if (flags & TCP_RST && !(flags & (TCP_SYN | TCP_PSH)))
		return V_TCP_RST;
	if (!(flags & TCP_ACK))
		return V_TCP_OTHER;
	return length > DATA_BYTES ? V_TCP_DATA : V_TCP_ACK;
}

INLINE u32 udp_vector(u32 port)
{
	switch (port) {
	case 19:
		return V_CHARGEN;
	case 53:
		return V_DNS;
	case 111:
		return V_PORTMAP;
	case 123:
		return V_NTP;
	case 137:
		return V_NETBIOS;
	case 161:
		return V_SNMP;
	case 389:
		return V_CLDAP;
	case 520:
		return V_RIP;
	case 1434:
		return V_MSSQL;
	case 1900:
		return V_SSDP;
	case 3283:
		return V_ARMS;
	case 3702:
		return V_WSD;
	case 5683:
		return V_COAP;
	case 11211:
		return V_MEMCACHED;
	case 32414:
		return V_PLEX;
	default:
		return V_UDP;
	}
}

INLINE u32 vector_of(const struct seen *p)
{
	if (p->part == LATER_PART)
		return V_FRAGMENT;
	if (p->protocol == UDP) {
		u32 vector = udp_vector(p->remote_port);
		return p->part == FIRST_PART && vector == V_UDP ? V_FRAGMENT_FIRST : vector;
	}
	if (p->part == FIRST_PART)
		return V_FRAGMENT_FIRST;
	if (p->protocol == TCP)
		return tcp_vector(p->flags, p->length);
	if (p->protocol == ICMP || p->protocol == ICMPV6)
		return V_ICMP;
	return p->protocol == GRE ? V_GRE : V_OTHER;
}

/* The length in the header is the sender's claim; the packet may be shorter. */
INLINE u32 at_most(u32 said, u32 there)
{
	return said && said < there ? said : there;
}

/* If the headers are cut off, the packet is counted by the fields that are known. */
INLINE void see_upper(void *at, void *end, enum direction direction, struct seen *p)
{
	if (p->part == LATER_PART || (p->protocol != TCP && p->protocol != UDP))
		return;
	u16 *ports = at;
	if ((void *)(ports + 2) > end)
		return;
	p->remote_port = NETWORK_16(ports[direction == INGRESS ? 0 : 1]);
	p->local_port = NETWORK_16(ports[direction == INGRESS ? 1 : 0]);
	u8 *tcp = at;
	if (p->protocol == TCP && (void *)(tcp + 14) <= end)
		p->flags = tcp[13];
}

/* `there`: the bytes from `at` on. `local`: the offset of the protected address in the header. */
INLINE int see_4(void *at, void *end, u32 there, enum direction direction, struct seen *p)
{
	u8 *ip = at;
	if ((void *)(ip + 20) > end)
		return 0;
	u32 header = (ip[0] & 15) * 4;
	if (ip[0] >> 4 != 4 || header < 20)
		return 0;
	u16 fragment = *(u16 *)(ip + 6);
	p->part = fragment & NETWORK_16(0x1fff) ? LATER_PART : fragment & NETWORK_16(0x2000) ? FIRST_PART : WHOLE;
	p->family = 4;
	p->protocol = ip[9];
	p->length = at_most(NETWORK_16(*(u16 *)(ip + 2)), there);
	p->local[0] = *(u32 *)(ip + (direction == INGRESS ? 16 : 12));
	p->remote[0] = *(u32 *)(ip + (direction == INGRESS ? 12 : 16));
	see_upper(at + header, end, direction, p);
	return 1;
}

INLINE int see_6(void *at, void *end, u32 there, enum direction direction, struct seen *p)
{
	u8 *ip = at;
	if ((void *)(ip + 40) > end || ip[0] >> 4 != 6)
		return 0;
	u32 *addresses = (u32 *)(ip + 8);
	for (int i = 0; i < 4; i++) {
		p->remote[i] = addresses[direction == INGRESS ? i : 4 + i];
		p->local[i] = addresses[direction == INGRESS ? 4 + i : i];
	}
	p->family = 6;
	u32 payload = NETWORK_16(*(u16 *)(ip + 4));
	p->length = payload ? at_most(payload + 40, there) : there;
	u8 next = ip[6];
	at += 40;
#pragma unroll
	for (int i = 0; i < MAX_EXTENSIONS; i++) {
		if (next != 0 && next != 43 && next != 60 && next != 44)
			break;
		u8 *extension = at;
		p->protocol = next;
		if ((void *)(extension + 8) > end)
			return 1;
		if (next == 44) {
			u16 fragment = *(u16 *)(extension + 2);
			if (fragment & NETWORK_16(0xfff8))
				p->part = LATER_PART;
			else if (fragment & NETWORK_16(1))
				p->part = FIRST_PART;
			at += 8;
		} else {
			at += (extension[1] + 1) * 8;
		}
		next = extension[0];
		if (p->part == LATER_PART)
			break;
	}
	p->protocol = next;
	see_upper(at, end, direction, p);
	return 1;
}

/* Returns whether the cell counts vectors. */
INLINE int add_class(u32 cell, u32 vector, u32 packets, u64 bytes)
{
	if (!cell || vector >= VECTORS)
		return 0;
	u32 place = counting_now.classes[cell & (CELLS - 1)];
	if (LIKELY(!place))
		return 0;
	place--;
	struct classes *there = bpf_map_lookup_elem(&classes, &place);
	if (!there)
		return 0;
	there->of[vector].packets += packets;
	there->of[vector].bytes += bytes;
	return 1;
}

/* `already`: the share of packets that was chosen before, as a shift. */
INLINE void sample_reported(const struct seen *p, u32 already)
{
	u32 mask = counting_now.sample_mask;
	if (LIKELY(bpf_get_prandom_u32() & (mask >> already)))
		return;
	struct reported_sample *sample = bpf_ringbuf_reserve(&reported_samples, sizeof(*sample), 0);
	if (!sample)
		return;
	__builtin_memcpy(sample->local, p->local, sizeof(sample->local));
	__builtin_memcpy(sample->remote, p->remote, sizeof(sample->remote));
	sample->local_port = p->local_port;
	sample->remote_port = p->remote_port;
	sample->packets = mask + 1;
	sample->family = p->family;
	sample->protocol = p->protocol;
	/* The agent polls several times a second, so no wakeup is needed. */
	bpf_ringbuf_submit(sample, BPF_RB_NO_WAKEUP);
}

INLINE void add_to_cell(u32 place, u32 vector, u32 packets, u32 length)
{
	struct cell *cell = place ? bpf_map_lookup_elem(&cells, &place) : 0;
	if (!cell)
		return;
	cell->packets += packets;
	cell->bytes += length;
	if (vector == V_TCP_DATA) {
		cell->data_packets += packets;
		cell->data_bytes += length;
	}
	if (vector == V_TCP_ACK)
		cell->ack_packets += packets;
}

INLINE u32 seen_hash(const struct seen *p)
{
	return p->family == 4 ? address_hash_4(p->local) : address_hash_6(p->local);
}

INLINE void vote(const struct seen *p)
{
	u32 epoch = bpf_ktime_get_coarse_ns() >> EPOCH_SHIFT;
	u32 place = (seen_hash(p) * 0x85ebca6bu) >> 20;
	struct suspect *there = &suspects_now[bounded(place, SUSPECTS)];
	int is_same = there->family == p->family && there->address[0] == p->local[0] &&
		      there->address[1] == p->local[1] && there->address[2] == p->local[2] &&
		      there->address[3] == p->local[3];
	if (there->epoch != epoch) {
		there->epoch = epoch;
		there->votes = there->packets = 0;
		there->bytes = 0;
	}
	there->packets += p->packets;
	there->bytes += p->length;
	if (is_same) {
		there->votes++;
	} else if (there->votes) {
		there->votes--;
	} else {
		there->votes = 1;
		there->family = p->family;
		__builtin_memcpy(there->address, p->local, sizeof(p->local));
	}
}

INLINE struct watched *find_around(const struct seen *p)
{
	if (p->family == 4) {
		struct prefix_key4 key = {.length = 32, .address = {p->local[0]}};
		return bpf_map_lookup_elem(&around_4, &key);
	}
	struct prefix_key6 key = {.length = 128};
	__builtin_memcpy(key.address, p->local, sizeof(key.address));
	return bpf_map_lookup_elem(&around_6, &key);
}

INLINE struct watched *find_followed(const struct seen *p)
{
	return p->family == 4 ? bpf_map_lookup_elem(&watched_4, p->local) : bpf_map_lookup_elem(&watched_6, p->local);
}

/* Whether packets to the address are counted where they enter. The network stack gets them all. */
INLINE int is_watched(u32 family, const u32 *address)
{
	if (family == 4) {
		struct prefix_key4 key = {.length = 32, .address = {address[0]}};
		return bpf_map_lookup_elem(&watched_4, address) || bpf_map_lookup_elem(&around_4, &key);
	}
	struct prefix_key6 key = {.length = 128};
	__builtin_memcpy(key.address, address, sizeof(key.address));
	return bpf_map_lookup_elem(&watched_6, address) || bpf_map_lookup_elem(&around_6, &key);
}

/*
 * `is_counted`: a rule of the destination address dropped and counted the packet; only its vector is missing. Returns
 * whether the address has counted vectors: it may be under attack.
 */
INLINE int count_seen(const struct seen *p, int is_counted)
{
	u32 vector = vector_of(p);
	struct watched *followed = find_followed(p);
	u32 cell = followed ? followed->cell : 0;
	u32 around;
	if (followed) {
		around = followed->around;
	} else {
		struct watched *network = find_around(p);
		if (!network)
			return 0;
		around = network->around;
		if (!is_counted)
			vote(p);
	}
	if (!is_counted)
		add_to_cell(cell ? cell : around, vector, p->packets, p->length);
	u32 shift = is_counted ? counting_now.vector_shift & 31 : 0;
	u64 bytes = (u64)p->length << shift;
	int is_busy = add_class(cell, vector, p->packets, bytes);
	int reported = is_busy | add_class(around, vector, p->packets, bytes);
	if (UNLIKELY(reported))
		sample_reported(p, shift);
	return is_busy;
}

INLINE int is_reported(u32 address_hash)
{
	u32 place = address_hash >> (32 - REPORTED_BITS);
	return counting_now.reported[place >> 6] >> (place & 63) & 1;
}

#endif
