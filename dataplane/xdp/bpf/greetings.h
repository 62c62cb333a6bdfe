/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Greetings of filters: what an unvalidated source may send to a filtered port. */
#ifndef PORTCULLIS_GREETINGS_H
#define PORTCULLIS_GREETINGS_H

#include "packet.h"

struct payload {
	u8 bytes[GREETING_BYTES + 8];
};
MAP(payload_now, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct payload), 1, 0);

/* Without a branch. */
INLINE u32 is_zero(u64 value)
{
	return ~(value | -value) >> 63;
}

#define GROUP 4u

/* Without branches, which the verifier would follow one by one. Checks that are not used have no mask. */
INLINE u64 differs_from(const struct greeting *greeting, const struct payload *payload, u32 length)
{
	u64 differs = (length < greeting->min) | (length > greeting->max);
#pragma unroll
	for (u32 i = 0; i < GREETING_CHECKS; i++) {
		u32 offset = greeting->check[i].offset & (GREETING_BYTES - 1);
		differs |= (*(const u64 *)(payload->bytes + offset) ^ greeting->check[i].value) & greeting->check[i].mask;
	}
	return differs;
}

/*
 * Whether the port of the packet has a filter and the packet fits none of its greetings. False if it cannot be read: nftables evaluates it. Bytes
 * that it does not have are 0; a greeting that names them is longer.
 */
INLINE int greets_wrongly(void *ctx, enum hook hook, const struct packet *p)
{
	u32 first = 0, length = p->payload_length;
	struct filtered_key key = {.slot = p->slot, .port = NETWORK_16(p->local_port)};
	u32 *index = bpf_map_lookup_elem(&filtered, &key);
	struct greetings *allowed = index ? bpf_map_lookup_elem(&greetings, index) : 0;
	struct payload *payload = bpf_map_lookup_elem(&payload_now, &first);
	if (!allowed || !payload)
		return 0;
	__builtin_memset(payload, 0, sizeof(*payload));
	u32 at = p->network + p->payload;
	u32 readable = length < GREETING_BYTES ? length : GREETING_BYTES;
	readable = bounded(readable, 2 * GREETING_BYTES);
	if (readable && (hook == AT_XDP ? bpf_xdp_load_bytes(ctx, at, payload->bytes, readable)
					: bpf_skb_load_bytes(ctx, at, payload->bytes, readable)))
		return 0;
	u32 count = allowed->count;
	u32 fits = 0;
	for (u32 group = 0; group < MAX_GREETINGS; group += GROUP) {
		if (group >= count)
			break;
		const struct greeting *some = &allowed->of[bounded(group, MAX_GREETINGS)];
#pragma unroll
		for (u32 i = 0; i < GROUP; i++)
			fits |= is_zero(differs_from(some + i, payload, length));
	}
	return !fits;
}

#endif
