/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The fields of a packet that a verdict needs, and their parser. Packets that cannot be parsed pass. */
#ifndef PORTCULLIS_PACKET_H
#define PORTCULLIS_PACKET_H

#include "maps.h"

#define ETHERTYPE_IP NETWORK_16(0x0800)
#define ETHERTYPE_IPV6 NETWORK_16(0x86dd)
#define ETHERTYPE_VLAN NETWORK_16(0x8100)
#define ETHERTYPE_QINQ NETWORK_16(0x88a8)
#define IS_TAG(ethertype) ((ethertype) == ETHERTYPE_VLAN || (ethertype) == ETHERTYPE_QINQ)
#define ICMP 1
#define TCP 6
#define UDP 17
#define ICMPV6 58
#define MAX_EXTENSIONS 6

/*
 * The hook of a program, which decides what its context is: `struct xdp_md`, or `struct __sk_buff` at tc ingress, where
 * a driver without XDP has made a buffer already. A constant wherever it is passed.
 */
enum hook { AT_XDP, AT_TC };

INLINE void *data_of(void *ctx, enum hook hook)
{
	return (void *)(long)(hook == AT_XDP ? ((struct xdp_md *)ctx)->data : ((struct __sk_buff *)ctx)->data);
}

INLINE void *end_of(void *ctx, enum hook hook)
{
	return (void *)(long)(hook == AT_XDP ? ((struct xdp_md *)ctx)->data_end : ((struct __sk_buff *)ctx)->data_end);
}

/* From the Ethernet header on, whatever part of it can be read directly. */
INLINE u32 length_of(void *ctx, enum hook hook)
{
	return hook == AT_XDP ? bpf_xdp_get_buff_len(ctx) : ((struct __sk_buff *)ctx)->len;
}

INLINE u32 ifindex_of(void *ctx, enum hook hook)
{
	return hook == AT_XDP ? ((struct xdp_md *)ctx)->ingress_ifindex : ((struct __sk_buff *)ctx)->ifindex;
}

/* The kernel may have merged several packets of a flow before tc ingress. */
INLINE u32 packets_in(void *ctx, enum hook hook)
{
	u32 merged = hook == AT_XDP ? 1 : ((struct __sk_buff *)ctx)->gso_segs;
	return merged ? merged : 1;
}

/* Before tc ingress the kernel takes the outer tag out of the packet. Returns it with bit 16 set, or 0. */
INLINE u32 removed_tag(void *ctx, enum hook hook)
{
	struct __sk_buff *skb = ctx;
	return hook == AT_XDP || !skb->vlan_present ? 0 : 1u << 16 | skb->vlan_tci;
}

/* The fields of a packet that a verdict needs. `remote` is the other side, `local` the protected one. */
struct packet {
	u32 local[4], remote[4];
	/* Network order. */
	u16 local_port, remote_port;
	u16 family;
	u8 protocol;
	/* TCP flags. */
	u8 flags;
	/* ICMP type, where the protocol is ICMP. */
	u8 icmp;
	/* Where the network header begins. */
	u16 network;
	/* Of UDP: where the payload begins after the network header, and its length as the header says. */
	u16 payload, payload_length;
	/* The slot of the counters of its destination. */
	u32 slot;
};
#define TCP_SYN 2
#define TCP_ACK 16

MAP(packet_now, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct packet), 1, 0);

INLINE struct packet *this_packet(void)
{
	u32 first = 0;
	return bpf_map_lookup_elem(&packet_now, &first);
}

/*
 * Returns a cleared packet. It is in a map, not on the stack, like `seen_now`: a verifier that does not track how the
 * headers were read checks the rules once.
 */
INLINE struct packet *begin_packet(void)
{
	struct packet *p = this_packet();
	if (p)
		__builtin_memset(p, 0, sizeof(*p));
	return p;
}

#define GOLDEN 0x9e3779b1u

enum direction { INGRESS, EGRESS };

/*
 * Parses the header at `at`, `before` bytes from the network header. Returns false for a packet that passes. The verifier must see that every read is inside
 * the packet, so each read has its own check.
 */
INLINE int parse_upper(void *at, u32 before, void *end, struct packet *p, enum direction direction)
{
	if (p->protocol == TCP || p->protocol == UDP) {
		u16 *ports = at;
		if ((void *)(ports + 2) > end)
			return 0;
		p->remote_port = ports[direction == INGRESS ? 0 : 1];
		p->local_port = ports[direction == INGRESS ? 1 : 0];
		if (p->protocol == UDP) {
			if (at + 8 > end)
				return 0;
			u32 length = NETWORK_16(ports[2]);
			p->payload = before + 8;
			p->payload_length = length < 8 ? 0 : length - 8;
			return 1;
		}
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
	/* A fragment: nftables evaluates the datagram after reassembly. */
	u16 fragment = *(u16 *)(ip + 6) & NETWORK_16(0x3fff);
	if (direction == INGRESS && fragment)
		return 0;
	if (direction == EGRESS && fragment & NETWORK_16(0x1fff))
		return 0;
	p->family = 4;
	p->protocol = ip[9];
	p->remote[0] = *(u32 *)(ip + (direction == INGRESS ? 12 : 16));
	p->local[0] = *(u32 *)(ip + (direction == INGRESS ? 16 : 12));
	return parse_upper(at + length, length, end, p, direction);
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
	u32 before = 40;
	at += 40;
#pragma unroll
	for (int i = 0; i < MAX_EXTENSIONS; i++) {
		/* Hop-by-hop, routing and destination options. No other extension is parsed. */
		if (next != 0 && next != 43 && next != 60)
			break;
		u8 *extension = at;
		if ((void *)(extension + 8) > end)
			return 0;
		next = extension[0];
		before += (extension[1] + 1) * 8;
		at += (extension[1] + 1) * 8;
	}
	/* Further extensions, fragments, authentication, no next header, mobility and others are not evaluated here. */
	if (next == 0 || next == 43 || next == 60 || next == 44 || next == 51 || next == 59 || next == 135 ||
	    next == 139 || next == 140)
		return 0;
	p->protocol = next;
	return parse_upper(at, before, end, p, direction);
}

/* Hashes neighbouring addresses far apart. address-hash.ts has the same function. */
INLINE u32 address_hash_4(const u32 *address)
{
	return __builtin_bswap32(*address) * GOLDEN;
}

INLINE u32 address_hash_6(const u32 *address)
{
	return address[0] * 0x85ebca6bu + address[1] * 0xc2b2ae35u + address[2] * 0x27d4eb2fu +
	       __builtin_bswap32(address[3]) * GOLDEN;
}

INLINE u32 key_of(const struct packet *p)
{
	u32 key = (u32)p->protocol << 16;
	if (p->protocol == TCP || p->protocol == UDP)
		key |= KEY_HAS_PORT | NETWORK_16(p->local_port);
	return key;
}

/* Keeps the index visible: if the compiler increments a pointer instead, the verifier cannot check its bound. */
INLINE u32 bounded(u32 i, u32 limit)
{
	asm volatile("" : "+r"(i));
	return i & (limit - 1);
}

#endif
