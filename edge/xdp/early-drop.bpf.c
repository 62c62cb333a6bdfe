/*
 * Early drop: drops what nftables behind it would drop too, decided by this packet and this edge's rules alone,
 * and passes everything else on. Never needed for a right verdict, only for a fast one. What cannot be read
 * here (fragments, unknown headers, cut-off packets) is passed on.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "layout.h"

#define EXPORT __attribute__((used))
struct map_definition {
	u32 type, key_size, value_size, max_entries, flags;
};
#define MAP(name, kind, key, value, entries, options) \
	struct map_definition name SEC("maps") EXPORT = {kind, key, value, entries, options}

/* Sizes are the smallest; the agent sets them by what it has to hold. */
MAP(settings, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct settings), 1, 0);
MAP(management, BPF_MAP_TYPE_ARRAY, 4, 8, 2048, 0);
MAP(vlans, BPF_MAP_TYPE_HASH, sizeof(struct vlan_key), 4, 65536, BPF_F_NO_PREALLOC);
MAP(small_4, BPF_MAP_TYPE_HASH, 4, sizeof(struct small4), 64, BPF_F_NO_PREALLOC);
MAP(small_6, BPF_MAP_TYPE_HASH, 16, sizeof(struct small6), 64, BPF_F_NO_PREALLOC);
MAP(large_4, BPF_MAP_TYPE_HASH, 4, sizeof(struct large4), 64, BPF_F_NO_PREALLOC);
MAP(large_6, BPF_MAP_TYPE_HASH, 16, sizeof(struct large6), 64, BPF_F_NO_PREALLOC);
MAP(prefix_4, BPF_MAP_TYPE_LPM_TRIE, sizeof(struct prefix4_key), sizeof(struct large4), 64, BPF_F_NO_PREALLOC);
MAP(prefix_6, BPF_MAP_TYPE_LPM_TRIE, sizeof(struct prefix6_key), sizeof(struct large6), 64, BPF_F_NO_PREALLOC);
/* Unions of source sets, a bit each, by the networks of sources. */
MAP(sets_4, BPF_MAP_TYPE_LPM_TRIE, sizeof(struct prefix4_key), 8, 64, BPF_F_NO_PREALLOC);
MAP(sets_6, BPF_MAP_TYPE_LPM_TRIE, sizeof(struct prefix6_key), 8, 64, BPF_F_NO_PREALLOC);
MAP(spilled, BPF_MAP_TYPE_HASH, sizeof(struct spilled_key), 4, 64, BPF_F_NO_PREALLOC);
MAP(counters, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct counter), 64, 0);
MAP(samples, BPF_MAP_TYPE_RINGBUF, 0, 0, 262144, 0);
MAP(flow_marks, BPF_MAP_TYPE_ARRAY, 4, 4, FLOW_MARKS, 0);
MAP(host_marks, BPF_MAP_TYPE_ARRAY, 4, HOST_MARKS, 1, BPF_F_MMAPABLE);

#define INLINE static __always_inline
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NETWORK_16(x) ((u16)__builtin_bswap16(x))

#define ETHERTYPE_IP NETWORK_16(0x0800)
#define ETHERTYPE_IPV6 NETWORK_16(0x86dd)
#define ETHERTYPE_VLAN NETWORK_16(0x8100)
#define ETHERTYPE_QINQ NETWORK_16(0x88a8)
#define ICMP 1
#define TCP 6
#define UDP 17
#define ICMPV6 58
#define MAX_EXTENSIONS 6

/* The part of a packet that a verdict needs. `remote` is the other side, `local` the protected one. */
struct packet {
	u32 local[4], remote[4];
	/* Network order. */
	u16 local_port, remote_port;
	u16 family;
	u8 protocol;
	/* Of TCP. */
	u8 flags;
	/* ICMP type, where the protocol is ICMP. */
	u8 icmp;
};
#define TCP_SYN 2
#define TCP_ACK 16

enum direction { INGRESS, EGRESS };

/*
 * The header behind `at`. False: leave this packet alone. A verifier must see that every read is inside the
 * packet, so every read is checked on its own.
 */
INLINE int parse_upper(void *at, void *end, struct packet *p, enum direction direction)
{
	if (p->protocol == TCP || p->protocol == UDP) {
		u16 *ports = at;
		if ((void *)(ports + 2) > end)
			return 0;
		p->remote_port = ports[direction == INGRESS ? 0 : 1];
		p->local_port = ports[direction == INGRESS ? 1 : 0];
		if (p->protocol == UDP)
			return at + 8 <= end;
		u8 *tcp = at;
		if ((void *)(tcp + 20) > end)
			return 0;
		p->flags = tcp[13];
		return 1;
	}
	if (p->protocol == ICMP || p->protocol == ICMPV6) {
		u8 *icmp = at;
		if ((void *)(icmp + 8) > end)
			return 0;
		p->icmp = icmp[0];
	}
	return 1;
}

INLINE int parse_4(void *at, void *end, struct packet *p, enum direction direction)
{
	u8 *ip = at;
	if ((void *)(ip + 20) > end)
		return 0;
	u32 length = (ip[0] & 15) * 4;
	if (ip[0] >> 4 != 4 || length < 20)
		return 0;
	/* More fragments, or not the first: whole datagrams are judged, behind reassembly. */
	u16 fragment = *(u16 *)(ip + 6) & NETWORK_16(0x3fff);
	if (direction == INGRESS && fragment)
		return 0;
	if (direction == EGRESS && fragment & NETWORK_16(0x1fff))
		return 0;
	p->family = 4;
	p->protocol = ip[9];
	p->remote[0] = *(u32 *)(ip + (direction == INGRESS ? 12 : 16));
	p->local[0] = *(u32 *)(ip + (direction == INGRESS ? 16 : 12));
	return parse_upper(at + length, end, p, direction);
}

INLINE int parse_6(void *at, void *end, struct packet *p, enum direction direction)
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
	u8 next = ip[6];
	at += 40;
#pragma unroll
	for (int i = 0; i < MAX_EXTENSIONS; i++) {
		/* Hop-by-hop, routing, destination options; of the others, none is read here. */
		if (next != 0 && next != 43 && next != 60)
			break;
		u8 *extension = at;
		if ((void *)(extension + 8) > end)
			return 0;
		next = extension[0];
		at += (extension[1] + 1) * 8;
	}
	/* Still an extension, a fragment, authentication, no next header, mobility and such: not ours to judge. */
	if (next == 0 || next == 43 || next == 60 || next == 44 || next == 51 || next == 59 || next == 135 ||
	    next == 139 || next == 140)
		return 0;
	p->protocol = next;
	return parse_upper(at, end, p, direction);
}

INLINE u32 key_of(const struct packet *p)
{
	u32 key = (u32)p->protocol << 16;
	if (p->protocol == TCP || p->protocol == UDP)
		key |= KEY_HAS_PORT | NETWORK_16(p->local_port);
	return key;
}

INLINE u64 port_bit(u32 key)
{
	return 1ull << (((key * 0x9e3779b1u) >> 26) & 63);
}

/* What the rules say of a packet: DROP with its reason, PASS, or OPEN (whoever sent it: its port or address is open). */
#define PASS 0u
#define OPEN 1u
#define DROP 2u
#define DROP_REASON(verdict) ((verdict) >> 2)

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

INLINE u64 source_bit(const struct packet *p)
{
	u32 start = p->family == 4 ? p->remote[0] & 0xff : p->remote[0];
	return 1ull << (((start * 0x9e3779b1u) >> 26) & 63);
}

#define FIRST_RULE(head, p) ((head)->sources & source_bit(p) ? 0 : (head)->plain)
#define END_OF_RULES(head, key) ((head)->ports & port_bit(key) ? (head)->rules : (head)->plain)

/* Read anew, whatever the compiler knows. */
#define SEEN_WHOLE(head, known, expected) \
	(*(volatile u32 *)&(head)->version == (known) && (!(head)->check || (head)->check == (expected)))

INLINE u32 check_of(const struct packet *p)
{
	return p->family == 4 ? p->local[0] : p->local[0] ^ p->local[1] ^ p->local[2] ^ p->local[3];
}

/* A compiler that steps a pointer instead hides from the verifier that it stays inside. */
INLINE u32 bounded(u32 i, u32 limit)
{
	asm volatile("" : "+r"(i));
	return i & (limit - 1);
}

/* The unions of source sets that the source is in; asked once a packet, and only for rules that ask. */
INLINE u64 unions_of(const struct head *head, const struct packet *p)
{
	u64 *unions;
	if (!(head->flags & ASKS_SETS))
		return 0;
	if (p->family == 4) {
		struct prefix4_key source = {.length = 32, .address = p->remote[0]};
		unions = bpf_map_lookup_elem(&sets_4, &source);
	} else {
		struct prefix6_key source = {.length = 128};
		__builtin_memcpy(source.address, p->remote, sizeof(source.address));
		unions = bpf_map_lookup_elem(&sets_6, &source);
	}
	return unions ? *unions : 0;
}

/* Whether a rule that matches as to everything else matches as to source sets. */
INLINE int sets_match(u32 mask, u32 match, u64 unions)
{
	if (!(mask & RULE_SETS))
		return 1;
	return ((unions >> (match & 63)) & 1) == !!(mask & RULE_INSIDE);
}

#define JUDGE_4(value, limit, p, key, verdict)                                                  \
	do {                                                                                    \
		verdict = fallback_of(&(value)->head);                                          \
		u32 count = END_OF_RULES(&(value)->head, key);                                  \
		u64 unions = unions_of(&(value)->head, p);                                      \
		for (u32 i = FIRST_RULE(&(value)->head, p); i < limit; i++) {                   \
			if (i >= count)                                                         \
				break;                                                          \
			const struct rule4 *r = &(value)->rule[bounded(i, limit)];              \
			u32 mask = r->mask;                                                     \
			if ((((p)->remote[0] ^ r->source) & r->source_mask) |                   \
			    (((key) ^ r->match) & mask & KEY_BITS))                             \
				continue;                                                       \
			if (!sets_match(mask, r->match, unions))                                \
				continue;                                                       \
			verdict = verdict_of(mask, r->source_mask == 0);                        \
			break;                                                                  \
		}                                                                               \
		if (!SEEN_WHOLE(&(value)->head, version, check_of(p)))                          \
			verdict = PASS;                                                         \
	} while (0)

#define JUDGE_6(value, limit, p, key, verdict)                                                  \
	do {                                                                                    \
		verdict = fallback_of(&(value)->head);                                          \
		u32 count = END_OF_RULES(&(value)->head, key);                                  \
		u64 unions = unions_of(&(value)->head, p);                                      \
		for (u32 i = FIRST_RULE(&(value)->head, p); i < limit; i++) {                   \
			if (i >= count)                                                         \
				break;                                                          \
			const struct rule6 *r = &(value)->rule[bounded(i, limit)];              \
			u32 mask = r->mask;                                                     \
			if ((((p)->remote[0] ^ r->source[0]) & r->source_mask[0]) |             \
			    (((key) ^ r->match) & mask & KEY_BITS))                             \
				continue;                                                       \
			if ((((p)->remote[1] ^ r->source[1]) & r->source_mask[1]) |             \
			    (((p)->remote[2] ^ r->source[2]) & r->source_mask[2]) |             \
			    (((p)->remote[3] ^ r->source[3]) & r->source_mask[3]))              \
				continue;                                                       \
			if (!sets_match(mask, r->match, unions))                                \
				continue;                                                       \
			verdict = verdict_of(mask, r->source_mask[0] == 0);                     \
			break;                                                                  \
		}                                                                               \
		if (!SEEN_WHOLE(&(value)->head, version, check_of(p)))                          \
			verdict = PASS;                                                         \
	} while (0)

/* More rules than fit: a look-up a form, in order. */
INLINE u32 judge_spilled(const struct head *head, const struct form *forms, const struct packet *p, u32 key)
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

/* The rules for the protected side of a packet: those of its address, else of the longest prefix that has some. */
INLINE u32 judge(const struct packet *p, u32 flags, u32 *slot)
{
	u32 key = key_of(p);
	u32 verdict;
	if (p->family == 4) {
		u32 address = p->local[0];
		struct small4 *small = bpf_map_lookup_elem(&small_4, &address);
		struct large4 *large;
		if (LIKELY(small && !(small->head.flags & IN_LARGE))) {
			u32 version = small->head.version;
			*slot = small->head.slot;
			JUDGE_4(small, SMALL_RULES, p, key, verdict);
			return verdict;
		}
		if (small) {
			large = bpf_map_lookup_elem(&large_4, &address);
		} else {
			struct prefix4_key prefix = {.length = 32, .address = address};
			if (!(flags & HAS_PREFIXES_4))
				return OPEN;
			large = bpf_map_lookup_elem(&prefix_4, &prefix);
		}
		if (!large)
			return small ? PASS : OPEN;
		u32 version = large->head.version;
		*slot = large->head.slot;
		if (large->head.flags & SPILLED) {
			verdict = judge_spilled(&large->head, large->form, p, key);
			return SEEN_WHOLE(&large->head, version, check_of(p)) ? verdict : PASS;
		}
		JUDGE_4(large, LARGE_RULES, p, key, verdict);
		return verdict;
	}
	struct small6 *small = bpf_map_lookup_elem(&small_6, p->local);
	struct large6 *large;
	if (LIKELY(small && !(small->head.flags & IN_LARGE))) {
		u32 version = small->head.version;
		*slot = small->head.slot;
		JUDGE_6(small, SMALL_RULES, p, key, verdict);
		return verdict;
	}
	if (small) {
		large = bpf_map_lookup_elem(&large_6, p->local);
	} else {
		struct prefix6_key prefix = {.length = 128};
		if (!(flags & HAS_PREFIXES_6))
			return OPEN;
		__builtin_memcpy(prefix.address, p->local, sizeof(prefix.address));
		large = bpf_map_lookup_elem(&prefix_6, &prefix);
	}
	if (!large)
		return small ? PASS : OPEN;
	u32 version = large->head.version;
	*slot = large->head.slot;
	if (large->head.flags & SPILLED) {
		verdict = judge_spilled(&large->head, large->form, p, key);
		return SEEN_WHOLE(&large->head, version, check_of(p)) ? verdict : PASS;
	}
	JUDGE_6(large, LARGE_RULES, p, key, verdict);
	return verdict;
}

/*
 * Flows that the protected side opened, remembered as times in a table that both directions hash into. Nothing
 * is ever evicted: two flows of one place are both remembered, so a reply is never dropped here by mistake,
 * and the price of a collision is a packet that nftables has to judge. flow-marks.ts has the same hash.
 */
INLINE u32 mixed(u32 hash, u32 value)
{
	hash = (hash ^ value) * 0x85ebca6bu;
	return hash ^ hash >> 15;
}

/* Places are the low bits, which every bit of what was mixed must reach. */
INLINE u32 finished(u32 hash)
{
	hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
	return hash ^ hash >> 16;
}

INLINE u32 host_place(const struct packet *p, u32 seed)
{
	u32 hash = mixed(seed ^ p->family, p->local[0]);
	if (p->family == 6)
		for (int i = 1; i < 4; i++)
			hash = mixed(hash, p->local[i]);
	return finished(hash) & (HOST_MARKS - 1);
}

INLINE u32 flow_place(const struct packet *p, u32 seed)
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
	return finished(hash) & (FLOW_MARKS - 1);
}

INLINE u32 now_seconds(void)
{
	return bpf_ktime_get_coarse_ns() / 1000000000ull + 1;
}

INLINE u32 remembered(const struct settings *s, u8 protocol)
{
	return protocol == TCP ? s->remember_tcp : protocol == UDP ? s->remember_udp : s->remember_other;
}

/* Could this be a reply? What is passed on as one keeps its flow remembered, as connection tracking does. */
INLINE int may_be_reply(const struct settings *s, const struct packet *p)
{
	if (!(s->flags & KEEP_REPLIES))
		return 0;
	/* Then all may be replies but what opens a connection; a SYN of both ends at once is told apart below. */
	if (!(s->flags & FLOWS_COMPLETE))
		return p->protocol != TCP || (p->flags & (TCP_SYN | TCP_ACK)) != TCP_SYN;
	u32 zero = 0;
	u8 *hosts = bpf_map_lookup_elem(&host_marks, &zero);
	if (!hosts || !hosts[host_place(p, s->seed)])
		return 0;
	u32 place = flow_place(p, s->seed);
	u32 *flow = bpf_map_lookup_elem(&flow_marks, &place);
	if (!flow || !*flow)
		return 0;
	u32 now = now_seconds();
	if (now - *flow > remembered(s, p->protocol))
		return 0;
	if (p->protocol != TCP && *flow != now)
		*flow = now;
	return 1;
}

/* Errors about a connection come from anybody on the way, and neighbour discovery must never stop. */
INLINE int is_icmp_message(const struct packet *p)
{
	if (p->protocol == ICMP)
		return p->icmp != 8 && p->icmp != 0;
	if (p->protocol == ICMPV6)
		return p->icmp != 128 && p->icmp != 129;
	return 0;
}

/* Management ports pass on any address: which addresses are the edge host's own, nftables knows. */
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

/* A host hears its DHCP server on packet sockets, which no rule of nftables reaches: nor may we. */
INLINE int is_dhcp(const struct packet *p)
{
	if (p->protocol != UDP)
		return 0;
	return p->family == 4 ? p->local_port == NETWORK_16(68) && p->remote_port == NETWORK_16(67)
			      : p->local_port == NETWORK_16(546) && p->remote_port == NETWORK_16(547);
}

INLINE void keep_sample(struct xdp_md *ctx, u32 slot, u32 reason, u32 length)
{
	struct sample *sample = bpf_ringbuf_reserve(&samples, sizeof(*sample), 0);
	if (!sample)
		return;
	u32 captured = length < SAMPLE_BYTES ? length : SAMPLE_BYTES;
	sample->at = bpf_ktime_get_ns();
	sample->ifindex = ctx->ingress_ifindex;
	sample->slot = slot;
	sample->length = length;
	sample->captured = captured;
	sample->reason = reason;
	sample->unused = 0;
	if (captured < 14 || bpf_xdp_load_bytes(ctx, 0, sample->packet, captured)) {
		bpf_ringbuf_discard(sample, 0);
		return;
	}
	bpf_ringbuf_submit(sample, 0);
}

INLINE void count(struct xdp_md *ctx, const struct settings *s, u32 slot, u32 reason)
{
	u32 place = reason * s->slots + slot;
	struct counter *counter = bpf_map_lookup_elem(&counters, &place);
	if (!counter)
		return;
	u32 length = ctx->data_end - ctx->data;
	u64 before = counter->packets++;
	counter->bytes += length;
	if (UNLIKELY(!(before & s->sample_mask)))
		keep_sample(ctx, slot, reason, length);
}

SEC("xdp")
int early_drop(struct xdp_md *ctx)
{
	void *at = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	u32 zero = 0;
	struct settings *s = bpf_map_lookup_elem(&settings, &zero);
	if (!s || at + 14 > end)
		return XDP_PASS;
	u16 ethertype = *(u16 *)(at + 12);
	at += 14;
	if (UNLIKELY(ethertype == ETHERTYPE_VLAN || ethertype == ETHERTYPE_QINQ)) {
		struct vlan_key vlan = {.ifindex = ctx->ingress_ifindex};
		if (!(s->flags & HAS_VLANS) || at + 4 > end)
			return XDP_PASS;
		vlan.outer = NETWORK_16(*(u16 *)at) & 0xfff;
		ethertype = *(u16 *)(at + 2);
		at += 4;
		if (ethertype == ETHERTYPE_VLAN || ethertype == ETHERTYPE_QINQ) {
			if (at + 4 > end)
				return XDP_PASS;
			vlan.inner = NETWORK_16(*(u16 *)at) & 0xfff;
			ethertype = *(u16 *)(at + 2);
			at += 4;
		}
		if (!bpf_map_lookup_elem(&vlans, &vlan))
			return XDP_PASS;
	}
	struct packet p = {};
	if (ethertype == ETHERTYPE_IP) {
		if (!parse_4(at, end, &p, INGRESS))
			return XDP_PASS;
	} else if (ethertype == ETHERTYPE_IPV6) {
		if (!parse_6(at, end, &p, INGRESS))
			return XDP_PASS;
	} else {
		return XDP_PASS;
	}
	u32 slot = 0;
	u32 verdict = judge(&p, s->flags, &slot);
	if (!(verdict & DROP) || is_icmp_message(&p) || is_management(s, &p) || is_dhcp(&p) || may_be_reply(s, &p))
		return XDP_PASS;
	count(ctx, s, slot, DROP_REASON(verdict));
	return XDP_DROP;
}

/*
 * Remembers what leaves the protected side, so that its replies pass. Whatever nobody's packets are dropped of
 * needs no memory: answers from open ports, from addresses that are open, and from those without rules. So noise
 * that is answered fills nothing. What is closed later the agent learns from connection tracking first.
 */
SEC("tcx/egress")
int remember_flow(struct __sk_buff *skb)
{
	void *at = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	u32 zero = 0;
	struct settings *s = bpf_map_lookup_elem(&settings, &zero);
	if (!s || !(s->flags & KEEP_REPLIES) || at + 14 > end)
		return -1;
	u16 ethertype = *(u16 *)(at + 12);
	at += 14;
	for (int tags = 0; tags < 2; tags++) {
		if (ethertype != ETHERTYPE_VLAN && ethertype != ETHERTYPE_QINQ)
			break;
		if (at + 4 > end)
			return -1;
		ethertype = *(u16 *)(at + 2);
		at += 4;
	}
	struct packet p = {};
	if (ethertype == ETHERTYPE_IP) {
		if (!parse_4(at, end, &p, EGRESS))
			return -1;
	} else if (ethertype == ETHERTYPE_IPV6) {
		if (!parse_6(at, end, &p, EGRESS))
			return -1;
	} else {
		return -1;
	}
	u32 slot = 0;
	u32 place = flow_place(&p, s->seed);
	u32 *flow = bpf_map_lookup_elem(&flow_marks, &place);
	u8 *hosts = bpf_map_lookup_elem(&host_marks, &zero);
	if (!flow || !hosts)
		return -1;
	u32 now = now_seconds();
	if (*flow == now)
		return -1;
	/* A connection is opened by a SYN and nothing else; what belongs to it keeps it remembered. */
	if (p.protocol == TCP && !*flow && (p.flags & (TCP_SYN | TCP_ACK)) != TCP_SYN)
		return -1;
	if (judge(&p, s->flags, &slot) == OPEN)
		return -1;
	hosts[host_place(&p, s->seed)] = 1;
	*flow = now;
	return -1;
}

char license_of_this[] SEC("license") EXPORT = "Apache-2.0";
