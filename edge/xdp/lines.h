/* The short way of most packets: see `struct line`. */
#ifndef PORTCULLIS_LINES_H
#define PORTCULLIS_LINES_H

#include "drops.h"
#include "flows.h"

/* Judge it by all that is known: no XDP action has this number. */
#define DOUBT -1
#define BARRIER() asm volatile("" ::: "memory")
#define VERSION_OF(line) (*(const volatile u32 *)&(line)->version)
#define IS_TCP_OR_UDP(protocol) ((protocol) < 32 && 1u << (protocol) & (1u << TCP | 1u << UDP))

INLINE int has_both(u64 word, u32 hash)
{
	u64 bits = 1ull << (hash >> 26) | 1ull << (hash >> 20 & 63);
	return (word & bits) == bits;
}

/* No flow of this host is remembered, nor could one be missing. */
INLINE int has_no_flows(const struct settings *s, u32 host)
{
	u32 zero = 0;
	if (!(s->flags & KEEP_REPLIES))
		return 1;
	u8 *hosts = bpf_map_lookup_elem(&host_marks, &zero);
	return s->flags & FLOWS_COMPLETE && hosts && !hosts[host];
}

/*
 * What some bit of the line says may match a rule. Ports from anywhere are known for sure; a wide line has more bits.
 * Answers an XDP action, DOUBT, or with XDP_DROP the place of the counter.
 */
INLINE int look_closer(const struct settings *s, const u32 *exact, u32 exacts, u32 key, u32 port, u32 source,
		       int known_source, u32 *place)
{
	if (has_both(s->passing_ports[port >> 19 & 1], port))
		return DOUBT;
	if (*place & LINE_WIDE) {
		u32 index = exact[0];
		struct wide *wide = bpf_map_lookup_elem(&wides, &index);
		if (!wide || has_both(wide->ports[port >> 15 & (WIDE_WORDS - 1)], port) ||
		    has_both(wide->sources[source >> 15 & (WIDE_WORDS - 1)], source))
			return DOUBT;
		return *place & LINE_PASSES ? XDP_PASS : XDP_DROP;
	}
	if (known_source)
		return DOUBT;
#pragma unroll
	for (u32 i = 0; i < exacts; i++) {
		if ((exact[i] & KEY_BITS) != key)
			continue;
		if (!(*place & LINE_PASSES))
			return XDP_PASS;
		*place += (exact[i] >> RULE_REASON_SHIFT & RULE_REASON_BITS) * s->slots;
		return XDP_DROP;
	}
	return DOUBT;
}

/* By the line of its destination. `version` was read before the line's address was compared. */
INLINE int judge_by_line(struct xdp_md *ctx, const struct settings *s, const struct line *line, u32 version,
			 const u32 *exact, u32 exacts, u32 address_hash, u32 key, u32 source)
{
	u32 port = key * GOLDEN;
	u32 place = line->place;
	int action = place & LINE_PASSES ? XDP_PASS : XDP_DROP;
	u32 word = port >> 19 & 1;
	int known_source = has_both(line->sources, source);
	if (has_both(line->ports[word] | s->passing_ports[word], port) || known_source)
		action = look_closer(s, exact, exacts, key, port, source, known_source, &place);
	if (action != XDP_DROP)
		return action;
	BARRIER();
	if (!version || VERSION_OF(line) != version || !has_no_flows(s, host_place(address_hash, s->seed)))
		return DOUBT;
	place &= LINE_PLACE;
	struct counter *counter = bpf_map_lookup_elem(&counters, &place);
	if (!counter)
		return DOUBT;
	count(ctx, s, counter, place);
	return XDP_DROP;
}

/* The line of an address or, where it has none, of another: the address is yet to be compared, behind the version. */
#define FIND_LINE(lines, shift, hash, line, line_is)                     \
	do {                                                             \
		u32 place = (hash) >> (shift);                           \
		line = bpf_map_lookup_elem(lines, &place);               \
		if (UNLIKELY(line && !(line_is))) {                      \
			place = (hash) * LINE_SECOND >> (shift);         \
			line = bpf_map_lookup_elem(lines, &place);       \
		}                                                        \
		if (!line)                                               \
			return DOUBT;                                    \
	} while (0)

/* TCP or UDP over plain IPv4. */
INLINE int judge_short_4(struct xdp_md *ctx, const struct settings *s, const u8 *ip)
{
	u32 protocol = ip[9];
	if (ip[0] != 0x45 || *(u16 *)(ip + 6) & NETWORK_16(0x3fff) || !IS_TCP_OR_UDP(protocol))
		return DOUBT;
	u32 remote = *(u32 *)(ip + 12), local = *(u32 *)(ip + 16);
	u32 key = KEY_HAS_PORT | protocol << 16 | NETWORK_16(*(u16 *)(ip + 22));
	u32 hash = address_hash_4(&local);
	const struct line *line;
	FIND_LINE(&lines_4, s->line_shift[0], hash, line, line->of4.address[0] == local);
	u32 version = VERSION_OF(line);
	BARRIER();
	if (line->of4.address[0] != local)
		return DOUBT;
	u32 source = (remote & line->of4.source_mask) * GOLDEN;
	return judge_by_line(ctx, s, line, version, line->of4.exact, LINE_EXACT_4, hash, key, source);
}

/* TCP or UDP over IPv6 without extension headers. */
INLINE int judge_short_6(struct xdp_md *ctx, const struct settings *s, const u8 *ip)
{
	u32 protocol = ip[6];
	if (ip[0] >> 4 != 6 || !IS_TCP_OR_UDP(protocol))
		return DOUBT;
	const u32 *remote = (const u32 *)(ip + 8), *local = (const u32 *)(ip + 24);
	u32 key = KEY_HAS_PORT | protocol << 16 | NETWORK_16(*(u16 *)(ip + 42));
	u32 hash = address_hash_6(local);
	const struct line *line;
	FIND_LINE(&lines_6, s->line_shift[1], hash, line, line->of6.address[3] == local[3]);
	u32 version = VERSION_OF(line);
	BARRIER();
	const u32 *address = line->of6.address;
	if ((address[0] ^ local[0]) | (address[1] ^ local[1]) | (address[2] ^ local[2]) | (address[3] ^ local[3]))
		return DOUBT;
	u32 source = (remote[0] * 0x85ebca6bu ^ (remote[1] & line->of6.source_mask)) * GOLDEN;
	return judge_by_line(ctx, s, line, version, line->of6.exact, LINE_EXACT_6, hash, key, source);
}

/* `at`: behind the Ethernet header. */
INLINE int judge_short(struct xdp_md *ctx, const struct settings *s, u16 ethertype, const u8 *at, const void *end)
{
	if (ethertype == ETHERTYPE_IP)
		return at + 40 <= (const u8 *)end ? judge_short_4(ctx, s, at) : DOUBT;
	if (ethertype == ETHERTYPE_IPV6)
		return at + 60 <= (const u8 *)end ? judge_short_6(ctx, s, at) : DOUBT;
	return DOUBT;
}

#endif
