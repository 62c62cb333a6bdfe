/*
 * Early drop: drops what nftables behind it would drop too, decided by this packet and this edge's rules alone,
 * and passes everything else on. Never needed for a right verdict, only for a fast one. What cannot be read
 * here (fragments, unknown headers, cut-off packets) is passed on.
 */
#include "drops.h"
#include "flows.h"
#include "lines.h"
#include "rules.h"

/* By everything that is known. */
INLINE int judge_whole(struct xdp_md *ctx)
{
	void *at = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	const struct settings *s = &settings_now;
	if (at + 14 > end)
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
	u32 place = DROP_REASON(verdict) * s->slots + slot;
	struct counter *counter = counter_at(place);
	if (counter)
		count(ctx, s, counter, place);
	return XDP_DROP;
}

SEC("xdp")
int early_drop(struct xdp_md *ctx)
{
	int action = judge_short(ctx);
	if (LIKELY(action != DOUBT))
		return action;
	/* Whatever was read is read anew, and need not be kept until then. */
	BARRIER();
	return judge_whole(ctx);
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
	const struct settings *s = &settings_now;
	if (!(s->flags & KEEP_REPLIES) || at + 14 > end)
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
	if (!flow)
		return -1;
	u32 now = now_seconds();
	if (*flow == now)
		return -1;
	/* A connection is opened by a SYN and nothing else; what belongs to it keeps it remembered. */
	if (p.protocol == TCP && !*flow && (p.flags & (TCP_SYN | TCP_ACK)) != TCP_SYN)
		return -1;
	if (!(s->flags & MARKS_ALL) && judge(&p, s->flags, &slot) == OPEN)
		return -1;
	hosts[host_place(address_hash(&p))] = 1;
	*flow = now;
	return -1;
}

char license_of_this[] SEC("license") EXPORT = "Apache-2.0";
