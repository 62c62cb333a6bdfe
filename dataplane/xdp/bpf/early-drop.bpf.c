/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Early drop: drops packets that nftables would drop too, by the packet itself and the rules of this edge. Passes all
 * others. It only saves time: nftables evaluates what passes. Packets that cannot be read here (fragments, unknown
 * headers, truncated packets) pass.
 */
#include <linux/pkt_cls.h>
#include "counting.h"
#include "drops.h"
#include "flows.h"
#include "forward.h"
#include "greetings.h"
#include "lines.h"
#include "rules.h"

/* The network header of a packet: its type, or 0 for a packet that is not evaluated here, and where it begins. */
struct network {
	u16 ethertype, offset;
};

INLINE struct network network_of(void *ctx, enum hook hook)
{
	void *at = data_of(ctx, hook);
	void *end = end_of(ctx, hook);
	struct network none = {};
	if (at + 14 > end)
		return none;
	u16 ethertype = *(u16 *)(at + 12);
	u32 removed = removed_tag(ctx, hook);
	at += 14;
	if (UNLIKELY(removed || IS_TAG(ethertype))) {
		struct vlan_key vlan = {.ifindex = ifindex_of(ctx, hook), .outer = removed & 0xfff};
		if (!(settings_now.flags & HAS_VLANS))
			return none;
		if (!removed) {
			if (at + 4 > end)
				return none;
			vlan.outer = NETWORK_16(*(u16 *)at) & 0xfff;
			ethertype = *(u16 *)(at + 2);
			at += 4;
		}
		if (IS_TAG(ethertype)) {
			if (at + 4 > end)
				return none;
			vlan.inner = NETWORK_16(*(u16 *)at) & 0xfff;
			ethertype = *(u16 *)(at + 2);
			at += 4;
		}
		if (!bpf_map_lookup_elem(&vlans, &vlan))
			return none;
	}
	struct network found = {.ethertype = ethertype, .offset = at - data_of(ctx, hook)};
	return found;
}

/* Whatever its destination denies. */
INLINE int must_pass(const struct settings *s, const struct packet *p)
{
	return is_icmp_message(p) || is_management(s, p) || is_dhcp(p) || may_be_reply(s, p);
}

INLINE int count_drop(void *ctx, enum hook hook, const struct settings *s, u32 reason, u32 slot, u32 of_network)
{
	u32 place = reason * s->slots + slot;
	struct counter *counter = counter_at(place);
	int is_chosen = counter && count(ctx, hook, s, counter, place);
	return of_network ? XDP_DROP : is_chosen ? REPORTED : COUNTED;
}

/* Evaluates the packet by all maps. */
INLINE int evaluate_whole(void *ctx, enum hook hook)
{
	const struct settings *s = &settings_now;
	struct network network = network_of(ctx, hook);
	struct packet *p = begin_packet();
	if (!network.ethertype || !p)
		return XDP_PASS;
	/* Read back from a map it is unknown to the verifier, which checks the headers once, however many tags there are. */
	p->network = network.offset;
	BARRIER();
	void *at = data_of(ctx, hook) + bounded(p->network, 32), *end = end_of(ctx, hook);
	if (network.ethertype == ETHERTYPE_IP) {
		if (!parse_4(at, end, p, INGRESS))
			return XDP_PASS;
	} else if (network.ethertype == ETHERTYPE_IPV6) {
		if (!parse_6(at, end, p, INGRESS))
			return XDP_PASS;
	} else {
		return XDP_PASS;
	}
	/* The verifier checks the rules once, however the headers were read. */
	BARRIER();
	u32 slot = 0;
	u32 verdict = evaluate(p, s->flags, &slot);
	p->slot = slot;
	if (!(verdict & DROP)) {
		if (p->protocol != UDP)
			return XDP_PASS;
		return verdict & HAS_FILTERS ? MUST_GREET : verdict & IS_EXACT ? ACCEPTED : XDP_PASS;
	}
	if (must_pass(s, p))
		return XDP_PASS;
	return count_drop(ctx, hook, s, DROP_REASON(verdict), slot, verdict & OF_NETWORK);
}

/* Evaluates the payload of the packet in `packet_now`. */
INLINE int evaluate_greeting(void *ctx, enum hook hook)
{
	struct packet *p = this_packet();
	const struct settings *s = &settings_now;
	/* Where replies take another route, no source is validated, and filters limit rates only. */
	if (!p || !(s->flags & KEEP_REPLIES) || !greets_wrongly(ctx, hook, p) || must_pass(s, p))
		return XDP_PASS;
	return count_drop(ctx, hook, s, REASON_GREETINGS, p->slot, 0);
}

/* The verdict is decided. `action` may be REPORTED or ACCEPTED. */
INLINE int count_rest(void *ctx, enum hook hook, int action)
{
	struct seen *p = counting_now.watching && action != COUNTED ? begin_seen() : 0;
	if (!p)
		return action == ACCEPTED || action >= 0 ? action : XDP_DROP;
	/* A value in a map is unknown to the verifier, so it checks the following code once. */
	p->action = action;
	p->packets = packets_in(ctx, hook) << (action == REPORTED ? counting_now.vector_shift & 31 : 0);
	BARRIER();
	struct network network = network_of(ctx, hook);
	p->network = network.offset;
	BARRIER();
	u32 before = bounded(p->network, 32);
	void *at = data_of(ctx, hook) + before, *end = end_of(ctx, hook);
	u32 there = length_of(ctx, hook) - before;
	/* The network stack counts the connections of an address that may be under attack. */
	if ((network.ethertype == ETHERTYPE_IP
		     ? see_4(at, end, there, INGRESS, p)
		     : network.ethertype == ETHERTYPE_IPV6 && see_6(at, end, there, INGRESS, p)) &&
	    count_seen(p, p->action == REPORTED) && p->action == ACCEPTED)
		return XDP_PASS;
	return p->action == REPORTED ? XDP_DROP : p->action;
}

/* Returns an XDP action. */
INLINE int receive(void *ctx, enum hook hook)
{
	int action = evaluate_short(ctx, hook);
	if (LIKELY(action == XDP_DROP))
		return action;
	/* Values are read again afterwards, so they need no registers until then. */
	BARRIER();
	if (action == DOUBT)
		action = evaluate_whole(ctx, hook);
	BARRIER();
	if (action == MUST_GREET) {
		/* Does not return. Without an agent the kernel empties these arrays, and the packet passes. */
		if (hook == AT_XDP)
			bpf_tail_call(ctx, &greeters, 0);
		else
			bpf_tail_call(ctx, &greeters_tc, 0);
		action = XDP_PASS;
	}
	if (action == ACCEPTED) {
		/* The same. */
		if (forwarding_now.until) {
			if (hook == AT_XDP)
				bpf_tail_call(ctx, &forwarders, 0);
			else
				bpf_tail_call(ctx, &forwarders_tc, 0);
		}
		action = XDP_PASS;
	}
	BARRIER();
	return count_rest(ctx, hook, action);
}

SEC("xdp")
int early_drop(struct xdp_md *ctx)
{
	return receive(ctx, AT_XDP);
}

/* A program of its own, because the verifier would check it again for every way in which a packet may be read. */
INLINE int receive_greeting(void *ctx, enum hook hook)
{
	int action = evaluate_greeting(ctx, hook);
	BARRIER();
	return count_rest(ctx, hook, action);
}

SEC("xdp/greeting")
int early_drop_greeting(struct xdp_md *ctx)
{
	return receive_greeting(ctx, AT_XDP);
}

/* Also a program of its own. Gets packets that are accepted and not counted yet. */
SEC("xdp/forward")
int early_drop_forward(struct xdp_md *ctx)
{
	return count_rest(ctx, AT_XDP, ACCEPTED) == ACCEPTED && forward(ctx, AT_XDP) ? XDP_REDIRECT : XDP_PASS;
}

/* The longest headers that are evaluated: Ethernet, two tags, IPv6 with options, TCP. */
#define HEADERS 192

/* The same for a device whose driver supports no XDP, or whose XDP another program uses. */
SEC("tcx/ingress")
int early_drop_later(struct __sk_buff *skb)
{
	u32 readable = skb->data_end - skb->data;
	if (UNLIKELY(readable < HEADERS && readable < skb->len))
		bpf_skb_pull_data(skb, skb->len < HEADERS ? skb->len : HEADERS);
	return receive(skb, AT_TC) == XDP_DROP ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

SEC("tcx/ingress/greeting")
int early_drop_greeting_later(struct __sk_buff *skb)
{
	return receive_greeting(skb, AT_TC) == XDP_DROP ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

SEC("tcx/ingress/forward")
int early_drop_forward_later(struct __sk_buff *skb)
{
	return count_rest(skb, AT_TC, ACCEPTED) == ACCEPTED && forward(skb, AT_TC) ? TC_ACT_REDIRECT : TC_ACT_UNSPEC;
}

/* The network header of an outgoing packet, after the Ethernet header and tags. */
struct header {
	void *at;
	u16 ethertype;
};

INLINE struct header network_leaving(struct __sk_buff *skb)
{
	void *at = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct header none = {};
	if (at + 14 > end)
		return none;
	u16 ethertype = *(u16 *)(at + 12);
	at += 14;
	for (int tags = 0; tags < 2; tags++) {
		if (ethertype != ETHERTYPE_VLAN && ethertype != ETHERTYPE_QINQ)
			break;
		if (at + 4 > end)
			return none;
		ethertype = *(u16 *)(at + 2);
		at += 4;
	}
	struct header found = {.at = at, .ethertype = ethertype};
	return found;
}

/* Counts large outgoing TCP packets: their acknowledgements are no flood. One buffer may become several packets. */
INLINE void count_sent(struct __sk_buff *skb)
{
	if (!counting_now.watching || skb->len <= DATA_BYTES)
		return;
	void *end = (void *)(long)skb->data_end;
	struct header network = network_leaving(skb);
	struct seen *p = begin_seen();
	if (!network.at || !p)
		return;
	if (!(network.ethertype == ETHERTYPE_IP ? see_4(network.at, end, skb->len, EGRESS, p)
						: network.ethertype == ETHERTYPE_IPV6 &&
							  see_6(network.at, end, skb->len, EGRESS, p)))
		return;
	if (p->protocol != TCP || p->part == LATER_PART)
		return;
	struct watched *followed = find_followed(p);
	struct watched *network_around = followed ? 0 : find_around(p);
	u32 place = followed ? followed->cell : network_around ? network_around->around : 0;
	struct cell *cell = place ? bpf_map_lookup_elem(&cells, &place) : 0;
	if (cell)
		cell->sent_packets += skb->gso_segs ? skb->gso_segs : 1;
}

/* Packets that this host sends have no device that they entered by: 0. */
INLINE int is_named(const struct settings *s, u32 ifindex)
{
	u32 differs = ifindex;
#pragma unroll
	for (int i = 0; i < NAMED_DEVICES; i++)
		differs = s->named[i] == ifindex ? 0 : differs;
	return ifindex && !differs;
}

/*
 * Marks flows of outgoing packets, so that their replies pass. Replies from open ports, open addresses and addresses
 * without rules are not marked, because nothing is dropped of their flows. So answered noise does not fill the table.
 * Before the agent closes a port, it learns the flows from conntrack.
 */
SEC("tcx/egress")
int remember_flow(struct __sk_buff *skb)
{
	void *end = (void *)(long)skb->data_end;
	const struct settings *s = &settings_now;
	/* From the outside to the protected side: it opens no flow of the protected side. */
	if (is_named(s, skb->ingress_ifindex) && !is_named(s, skb->ifindex))
		return -1;
	count_sent(skb);
	if (!(s->flags & KEEP_REPLIES))
		return -1;
	struct header network = network_leaving(skb);
	struct packet *p = begin_packet();
	if (!network.at || !p)
		return -1;
	if (network.ethertype == ETHERTYPE_IP) {
		if (!parse_4(network.at, end, p, EGRESS))
			return -1;
	} else if (network.ethertype == ETHERTYPE_IPV6) {
		if (!parse_6(network.at, end, p, EGRESS))
			return -1;
	} else {
		return -1;
	}
	BARRIER();
	u32 slot = 0;
	u32 hash = flow_hash(p, s->seed);
	u32 now = now_seconds();
	/* Evaluated once a second, whatever number of answers it sends. */
	if (p->protocol == UDP && learn_pass(p, hash, skb->ifindex, now) == now && !(s->flags & MARKS_ALL))
		return -1;
	BARRIER();
	u32 place = hash & (FLOW_MARKS - 1);
	u32 *flow = bpf_map_lookup_elem(&flow_marks, &place);
	if (!flow)
		return -1;
	if (*flow == now)
		return -1;
	/* Only a SYN opens a connection; other packets renew its mark. */
	if (p->protocol == TCP && !*flow && (p->flags & (TCP_SYN | TCP_ACK)) != TCP_SYN)
		return -1;
	if (!(s->flags & MARKS_ALL)) {
		u32 verdict = evaluate(p, s->flags, &slot);
		if ((verdict & ~IS_EXACT) == OPEN) {
			u32 entered = verdict & IS_EXACT && !is_watched(p->family, p->remote) ? skb->ingress_ifindex : 0;
			if (p->protocol == UDP)
				open_pass(p, hash, entered, now);
			return -1;
		}
	}
	hosts[host_place(address_hash(p))] = 1;
	*flow = now;
	return -1;
}

/* Forwards answers that enter by a device that is not named. */
SEC("xdp/answer")
int early_drop_answer(struct xdp_md *ctx)
{
	return forward_answer(ctx, AT_XDP) ? XDP_REDIRECT : XDP_PASS;
}

/* The same for a device whose driver supports no XDP, or that hands over what a card would finish. */
SEC("tcx/ingress/answer")
int early_drop_answer_later(struct __sk_buff *skb)
{
	return forward_answer(skb, AT_TC) ? TC_ACT_REDIRECT : TC_ACT_UNSPEC;
}

char license_of_this[] SEC("license") EXPORT = "Dual MIT/GPL";
