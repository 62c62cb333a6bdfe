/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The fast path of most packets: see `struct line`. */
#ifndef PORTCULLIS_LINES_H
#define PORTCULLIS_LINES_H

#include "counting.h"
#include "drops.h"
#include "flows.h"

/* Evaluate the packet by all maps. No XDP action has this number. */
#define DOUBT -1
/* Dropped, and counted among the drops of its address; with REPORTED its vector is counted too. */
#define REPORTED -2
#define COUNTED -3
/* Rules pass it, and a filter may drop it. */
#define MUST_GREET -4
/* UDP that nftables accepts. */
#define ACCEPTED -5
#define BARRIER() asm volatile("" ::: "memory")
#define VERSION_OF(line) (*(const volatile u16 *)&(line)->version)
#define IS_TCP_OR_UDP(protocol) ((protocol) < 32 && 1u << (protocol) & (1u << TCP | 1u << UDP))

INLINE int has_both(u64 word, u32 hash)
{
	return word >> (hash >> 26) & word >> (hash >> 20 & 63) & 1;
}

/* Reads a plain TCP or UDP packet into the form of the other programs. */
INLINE void read_plain(const u8 *ip, u32 family, struct packet *p)
{
	const u16 *ports = (const u16 *)(ip + (family == 4 ? 20 : 40));
	p->family = family;
	p->protocol = ip[family == 4 ? 9 : 6];
	__builtin_memcpy(p->remote, ip + (family == 4 ? 12 : 8), family == 4 ? 4 : 16);
	__builtin_memcpy(p->local, ip + (family == 4 ? 16 : 24), family == 4 ? 4 : 16);
	p->remote_port = ports[0];
	p->local_port = ports[1];
}

/* Whether no remembered flow contains the packet, and no flow may be missing. */
INLINE int is_no_reply(const struct settings *s, const u8 *ip, u32 family, u32 address_hash)
{
	u32 keeping = s->flags & (KEEP_REPLIES | FLOWS_COMPLETE);
	if (UNLIKELY(keeping != (KEEP_REPLIES | FLOWS_COMPLETE)))
		return !(keeping & KEEP_REPLIES);
	if (!hosts[host_place(address_hash)])
		return 1;
	struct packet p = {};
	read_plain(ip, family, &p);
	u32 place = flow_place(&p, s->seed);
	u32 *flow = bpf_map_lookup_elem(&flow_marks, &place);
	return flow && !*flow;
}

/* A bit says that a rule may match. A named port, or a wide line, decides more precisely. */
INLINE int look_closer(const struct settings *s, const struct line *line, u32 key, u32 port, u32 source)
{
	int fallback = line->place & LINE_PASSES ? XDP_PASS : XDP_DROP;
	if (has_both(s->passing_ports[port >> 19 & 1], port))
		return DOUBT;
	if (line->place & LINE_WIDE) {
		u32 index = line->wide;
		struct wide *wide = bpf_map_lookup_elem(&wides, &index);
		if (!wide || has_both(wide->ports[port >> 15 & (WIDE_WORDS - 1)], port) ||
		    has_both(wide->sources[source >> 15 & (WIDE_WORDS - 1)], source))
			return DOUBT;
		return fallback;
	}
	if (has_both(line->sources, source))
		return DOUBT;
	u32 is_udp = key >> 20 & 1;
#pragma unroll
	for (u32 i = 0; i < LINE_PORTS; i++)
		if (line->named[i] == (u16)key && (line->udp >> i & 1) == is_udp)
			return line->asks >> i & 1 ? DOUBT : fallback ^ XDP_PASS ^ XDP_DROP;
	return fallback;
}

/* `protocol` is TCP or UDP; its header starts at `ports`. */
INLINE u32 key_at(u32 protocol, const u16 *ports)
{
	return KEY_HAS_PORT | protocol << 16 | NETWORK_16(ports[1]);
}

/*
 * Evaluates a packet by the line of its destination, whose version was read before the address. Returns an XDP action
 * or DOUBT.
 */
INLINE int evaluate_by_line(void *ctx, enum hook hook, const struct settings *s, const struct line *line, u32 version,
			 const u8 *ip, u32 family, u32 address_hash, u32 source)
{
	u32 key = family == 4 ? key_at(ip[9], (u16 *)(ip + 20)) : key_at(ip[6], (u16 *)(ip + 40));
	u32 port = key * GOLDEN;
	u32 word = port >> 19 & 1;
	int action = line->place & LINE_PASSES ? XDP_PASS : XDP_DROP;
	if (UNLIKELY(has_both(line->ports[word] | s->passing_ports[word], port) || has_both(line->sources, source)))
		action = look_closer(s, line, key, port, source);
	if (action != XDP_DROP) {
		if (action != XDP_PASS || !(line->place & LINE_EXACT) || (family == 4 ? ip[9] : ip[6]) != UDP)
			return action;
		BARRIER();
		return version && VERSION_OF(line) == version ? ACCEPTED : XDP_PASS;
	}
	u32 place = line->place & LINE_PLACE;
	BARRIER();
	if (!version || VERSION_OF(line) != version || !is_no_reply(s, ip, family, address_hash))
		return DOUBT;
	struct counter *counter = counter_at(place);
	if (!counter)
		return DOUBT;
	int is_chosen = count(ctx, hook, s, counter, place);
	return UNLIKELY(is_chosen && is_reported(address_hash)) ? REPORTED : XDP_DROP;
}

/* Finds the line of an address, with its version from before the address was compared (`is_ours`). */
#define FIND_LINE(lines, shift, hash, line, version, is_ours)    \
	do {                                                     \
		u32 place = (hash) >> (shift);                   \
		line = bpf_map_lookup_elem(lines, &place);       \
		if (!line)                                       \
			return DOUBT;                            \
		version = VERSION_OF(line);                      \
		BARRIER();                                       \
		if (LIKELY(is_ours))                             \
			break;                                   \
		place = (hash) * LINE_SECOND >> (shift);         \
		line = bpf_map_lookup_elem(lines, &place);       \
		if (!line)                                       \
			return DOUBT;                            \
		version = VERSION_OF(line);                      \
		BARRIER();                                       \
		if (!(is_ours))                                  \
			return DOUBT;                            \
	} while (0)

/* TCP or UDP over plain IPv4. */
INLINE int evaluate_short_4(void *ctx, enum hook hook, const struct settings *s, const u8 *ip)
{
	if (ip[0] != 0x45 || *(u16 *)(ip + 6) & NETWORK_16(0x3fff) || !IS_TCP_OR_UDP(ip[9]))
		return DOUBT;
	u32 local = *(u32 *)(ip + 16);
	u32 hash = address_hash_4(&local);
	u32 version;
	const struct line *line;
	FIND_LINE(&lines_4, s->line_shift[0], hash, line, version, line->of4.address[0] == local);
	u32 source = (*(u32 *)(ip + 12) & line->of4.source_mask) * GOLDEN;
	return evaluate_by_line(ctx, hook, s, line, version, ip, 4, hash, source);
}

INLINE int is_address_6(const u32 *a, const u32 *b)
{
	return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]));
}

/* TCP or UDP over IPv6 without extension headers. */
INLINE int evaluate_short_6(void *ctx, enum hook hook, const struct settings *s, const u8 *ip)
{
	if (ip[0] >> 4 != 6 || !IS_TCP_OR_UDP(ip[6]))
		return DOUBT;
	const u32 *remote = (const u32 *)(ip + 8), *local = (const u32 *)(ip + 24);
	u32 hash = address_hash_6(local);
	u32 version;
	const struct line *line;
	FIND_LINE(&lines_6, s->line_shift[1], hash, line, version, is_address_6(line->of6.address, local));
	u32 source = (remote[0] * 0x85ebca6bu ^ (remote[1] & line->of6.source_mask)) * GOLDEN;
	return evaluate_by_line(ctx, hook, s, line, version, ip, 6, hash, source);
}

INLINE int evaluate_short(void *ctx, enum hook hook)
{
	const u8 *at = data_of(ctx, hook), *end = end_of(ctx, hook);
	const struct settings *s = &settings_now;
	if (at + 54 > end || removed_tag(ctx, hook))
		return DOUBT;
	if (*(u16 *)(at + 12) == ETHERTYPE_IP)
		return evaluate_short_4(ctx, hook, s, at + 14);
	if (*(u16 *)(at + 12) == ETHERTYPE_IPV6 && at + 74 <= end)
		return evaluate_short_6(ctx, hook, s, at + 14);
	return DOUBT;
}

#endif
