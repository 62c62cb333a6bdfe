/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Evaluates rules. Included once for each family, with FAMILY (4 or 6) and WORDS (of an address). */
#define JOIN(name, family) name##family
#define JOINED(name, family) JOIN(name, family)
#define OF_FAMILY(name) JOINED(name, FAMILY)
#define HAS_PREFIXES OF_FAMILY(HAS_PREFIXES_)

INLINE int OF_FAMILY(source_differs_)(const struct packet *p, const struct OF_FAMILY(rule) *r)
{
#pragma unroll
	for (int word = 0; word < WORDS; word++)
		if ((p->remote[word] ^ r->source[word]) & r->source_mask[word])
			return 1;
	return 0;
}

/* Finds the first of `limit` rules that matches. `limit` is a power of two. */
INLINE u32 OF_FAMILY(evaluate_listed_)(const struct head *head, const struct OF_FAMILY(rule) *rules, u32 limit,
				    const struct packet *p, u32 key)
{
	u32 count = END_OF_RULES(head, key);
	u64 unions = unions_of(head, p);
	for (u32 i = FIRST_RULE(head, p); i < limit; i++) {
		if (i >= count)
			break;
		const struct OF_FAMILY(rule) *r = &rules[bounded(i, limit)];
		u32 mask = r->mask;
		if ((key ^ r->match) & mask & KEY_BITS || OF_FAMILY(source_differs_)(p, r))
			continue;
		if (sets_match(mask, r->match, unions))
			return verdict_of(mask, r->source_mask[0] == 0);
	}
	return fallback_of(head);
}

INLINE u32 OF_FAMILY(evaluate_)(const struct packet *p, u32 flags, u32 *slot)
{
	u32 key = key_of(p);
	u32 verdict;
	struct OF_FAMILY(small) *small = bpf_map_lookup_elem(&OF_FAMILY(small_), p->local);
	if (LIKELY(small && !(small->head.flags & IN_LARGE))) {
		u32 version = small->head.version;
		*slot = small->head.slot;
		verdict = OF_FAMILY(evaluate_listed_)(&small->head, small->rule, SMALL_RULES, p, key);
		if (UNLIKELY(small->head.flags & MITIGATED))
			verdict = after_mitigations(*slot, p, flags, verdict);
		verdict |= policy_beyond(&small->head);
		return SEEN_WHOLE(&small->head, version, check_of(p)) ? verdict : PASS;
	}
	struct OF_FAMILY(large) *large;
	if (small) {
		large = bpf_map_lookup_elem(&OF_FAMILY(large_), p->local);
	} else {
		struct OF_FAMILY(prefix_key) prefix = {.length = WORDS * 32};
		if (!(flags & HAS_PREFIXES))
			return OPEN;
		__builtin_memcpy(prefix.address, p->local, sizeof(prefix.address));
		large = bpf_map_lookup_elem(&OF_FAMILY(prefix_), &prefix);
	}
	if (!large)
		return small ? PASS : OPEN;
	u32 version = large->head.version;
	*slot = large->head.slot;
	verdict = large->head.flags & SPILLED ? evaluate_spilled(&large->head, large->form, p, key)
					      : OF_FAMILY(evaluate_listed_)(&large->head, large->rule, LARGE_RULES, p, key);
	if (UNLIKELY(large->head.flags & MITIGATED))
		verdict = after_mitigations(*slot, p, flags, verdict);
	verdict |= policy_beyond(&large->head);
	if (!small && verdict & DROP)
		verdict |= OF_NETWORK;
	return SEEN_WHOLE(&large->head, version, check_of(p)) ? verdict : PASS;
}

#undef JOIN
#undef JOINED
#undef OF_FAMILY
#undef HAS_PREFIXES
