/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The rules of a destination. */
#ifndef PORTCULLIS_RULES_H
#define PORTCULLIS_RULES_H

#include "packet.h"

INLINE u64 port_bit(u32 key)
{
	return 1ull << (((key * 0x9e3779b1u) >> 26) & 63);
}

/* The verdict of the rules: DROP with its reason, PASS, or OPEN (the port or address is open to every source). */
#define PASS 0u
#define OPEN 1u
#define DROP 2u
#define DROP_REASON(verdict) ((verdict) >> 2 & REASON_BITS)
/* With DROP: by rules of a network, whose counter does not distinguish addresses. */
#define OF_NETWORK (1u << 8)
/* Ports of the destination have filters. Not OPEN: replies from it are marked, so that what it answers is known. */
#define HAS_FILTERS (1u << 9)
/* Without DROP: nftables accepts the packet if it is UDP. */
#define IS_EXACT (1u << 10)

INLINE u32 verdict_of(u32 mask, u32 any_source)
{
	if (mask & RULE_DROPS)
		return DROP | ((mask >> RULE_REASON_SHIFT) & RULE_REASON_BITS) << 2;
	return any_source && mask & KEY_HAS_PORT ? OPEN : PASS;
}

INLINE u32 fallback_of(const struct head *head)
{
	return head->fallback == FALLBACK_PASS ? OPEN : DROP | (u32)(head->fallback - FALLBACK_DROP) << 2;
}

/* Without a branch, which would double what the verifier checks. */
INLINE u32 policy_beyond(const struct head *head)
{
	return (u32)(head->flags & (FILTERED | EXACT)) << 5;
}

INLINE u64 source_bit(const struct packet *p)
{
	u32 start = p->family == 4 ? p->remote[0] & 0xff : p->remote[0];
	return 1ull << (((start * 0x9e3779b1u) >> 26) & 63);
}

#define FIRST_RULE(head, p) ((head)->sources & source_bit(p) ? 0 : (head)->plain)
#define END_OF_RULES(head, key) ((head)->ports & port_bit(key) ? (head)->rules : (head)->plain)

/* Forces a new read from memory. */
#define SEEN_WHOLE(head, known, expected) \
	(*(volatile u32 *)&(head)->version == (known) && (!(head)->check || (head)->check == (expected)))

INLINE u32 check_of(const struct packet *p)
{
	return p->family == 4 ? p->local[0] : p->local[0] ^ p->local[1] ^ p->local[2] ^ p->local[3];
}

/* The unions that contain the source. Looked up once for each packet, and only if a rule needs them. */
INLINE u64 unions_of(const struct head *head, const struct packet *p)
{
	u64 *unions;
	if (!(head->flags & ASKS_SETS))
		return 0;
	if (p->family == 4) {
		struct prefix_key4 source = {.length = 32, .address = {p->remote[0]}};
		unions = bpf_map_lookup_elem(&sets_4, &source);
	} else {
		struct prefix_key6 source = {.length = 128};
		__builtin_memcpy(source.address, p->remote, sizeof(source.address));
		unions = bpf_map_lookup_elem(&sets_6, &source);
	}
	return unions ? *unions : 0;
}

/* Whether a rule whose other fields match also matches by source sets. */
INLINE int sets_match(u32 mask, u32 match, u64 unions)
{
	if (!(mask & RULE_SETS))
		return 1;
	return ((unions >> (match & 63)) & 1) == !!(mask & RULE_INSIDE);
}

/* The rules do not fit into the element: one lookup for each form, in order. */
INLINE u32 evaluate_spilled(const struct head *head, const struct form *forms, const struct packet *p, u32 key)
{
	struct spilled_key asked = {.slot = head->slot};
	u32 count = head->rules;
	for (u32 i = 0; i < MAX_FORMS; i++) {
		if (i >= count)
			break;
		const struct form *form = &forms[i];
		asked.level = form->level;
		asked.match = key & form->mask;
		for (int word = 0; word < 4; word++)
			asked.source[word] = p->remote[word] & form->source_mask[word];
		u32 *found = bpf_map_lookup_elem(&spilled, &asked);
		if (found)
			return *found & RULE_DROPS
				       ? DROP | ((*found >> RULE_REASON_SHIFT) & RULE_REASON_BITS) << 2
				       : PASS;
	}
	return fallback_of(head);
}

INLINE int is_spared(const struct stateless_drop *found, const u32 *remote)
{
	u32 count = found->count;
	for (u32 i = 0; i < SAFE_NETWORKS; i++) {
		if (i >= count)
			break;
		const u32 *address = found->safe[i].address, *mask = found->safe[i].mask;
		if (!(((remote[0] ^ address[0]) & mask[0]) | ((remote[1] ^ address[1]) & mask[1]) |
		      ((remote[2] ^ address[2]) & mask[2]) | ((remote[3] ^ address[3]) & mask[3])))
			return 1;
	}
	return 0;
}

/*
 * Mitigations are evaluated before rules. While there are any, no port is open to every source: outgoing flows are
 * marked, so that their replies pass.
 */
INLINE u32 after_mitigations(u32 slot, const struct packet *p, u32 flags, u32 verdict)
{
	struct stateless_key key = {.slot = slot, .match = (u32)p->protocol << 16};
	__builtin_memcpy(key.source, p->remote, sizeof(key.source));
	struct stateless_drop *found = bpf_map_lookup_elem(&stateless_drops, &key);
	if (found && found->unanswered_only && !(flags & KEEP_REPLIES))
		found = 0;
	if (!found && p->protocol == UDP) {
		key.match |= NETWORK_16(p->remote_port);
		__builtin_memset(key.source, 0, sizeof(key.source));
		found = bpf_map_lookup_elem(&stateless_drops, &key);
	}
	if (found && !is_spared(found, p->remote))
		return DROP | REASON_MITIGATIONS << 2;
	return verdict == OPEN ? PASS : verdict;
}

#define FAMILY 4
#define WORDS 1
#include "evaluate.h"
#undef FAMILY
#undef WORDS
#define FAMILY 6
#define WORDS 4
#include "evaluate.h"

/* Evaluates the rules of the protected address, or of the longest prefix that has rules. */
INLINE u32 evaluate(const struct packet *p, u32 flags, u32 *slot)
{
	return p->family == 4 ? evaluate_4(p, flags, slot) : evaluate_6(p, flags, slot);
}

#endif
