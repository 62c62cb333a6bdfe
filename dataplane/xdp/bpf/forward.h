/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Forwards UDP flows that the protected side answers, without the network stack. Every packet is evaluated and counted
 * before. Decides nothing: whatever is in doubt passes to the network stack.
 */
#ifndef PORTCULLIS_FORWARD_H
#define PORTCULLIS_FORWARD_H

#include "flows.h"
#include "lines.h"

/* Seconds after the last answer: no packet is forwarded, and the place is free. No flow is forwarded as it is replaced. */
#define UNANSWERED_AFTER 10
#define REPLACED_AFTER 15
/* One packet of a flow in this number of seconds passes, so that connection tracking and neighbours know the flow. */
#define SLOW_EVERY 4
#define ETHERNET 14
/* Shorter frames are padded on the wire. */
#define SHORTEST_FRAME 60
/* No frame is longer where checksums are verified. */
#define VERIFIED_BYTES 1536
#define AF_INET 2
#define AF_INET6 10

struct datagram {
	u8 bytes[VERIFIED_BYTES + 8];
};
MAP(datagram_now, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct datagram), 1, 0);

#define PASS_VERSION(there) (*(const volatile u32 *)&(there)->version)

INLINE u32 ports_of(const struct packet *p)
{
	return (u32)p->local_port << 16 | p->remote_port;
}

INLINE int is_pass(const struct pass *there, const struct packet *p)
{
	u32 differs = (there->local[0] ^ p->local[0]) | (there->remote[0] ^ p->remote[0]) |
		      (there->ports ^ ports_of(p)) | (u32)(there->family ^ p->family);
#pragma unroll
	for (int i = 1; i < 4; i++)
		differs |= (there->local[i] ^ p->local[i]) | (there->remote[i] ^ p->remote[i]);
	return !differs;
}

/* Returns the odd version, or 0 while another CPU changes it. */
INLINE u32 begin_change(struct pass *there)
{
	u32 version = PASS_VERSION(there);
	if (version & 1 || __sync_val_compare_and_swap(&there->version, version, version + 1) != version)
		return 0;
	return version + 1;
}

INLINE u32 end_change(struct pass *there, u32 version)
{
	BARRIER();
	__sync_lock_test_and_set(&there->version, version + 1);
	return version + 1;
}

/* Whether the network stack forwards packets from such an address. Multicast, loopback and link-local have other rules. */
INLINE int is_unicast(u32 family, const u32 *address)
{
	u32 first = address[0] & 0xff;
	if (family == 4)
		return first && first != 127 && first < 224;
	return (first & 0xe0) == 0x20 || (first & 0xfe) == 0xfc;
}

INLINE struct pass *find_pass(const struct packet *p, u32 hash)
{
	u32 index = hash & forwarding_now.mask;
	struct passes *there = bpf_map_lookup_elem(&passes, &index);
	if (!there)
		return 0;
	return is_pass(&there->of[0], p) ? &there->of[0] : is_pass(&there->of[1], p) ? &there->of[1] : 0;
}

/* The protected side sends UDP by a device. Returns `open` of its flow. */
INLINE u32 learn_pass(const struct packet *p, u32 hash, u32 ifindex, u32 now)
{
	u32 index = hash & forwarding_now.mask;
	struct passes *there = bpf_map_lookup_elem(&passes, &index);
	if (!there)
		return 0;
	struct pass *found = is_pass(&there->of[0], p) ? &there->of[0] : is_pass(&there->of[1], p) ? &there->of[1] : 0;
	if (found) {
		if (found->answered != now)
			found->answered = now;
		if (found->ifindex != ifindex) {
			found->hop_at = 0;
			found->ifindex = ifindex;
		}
		return found->open;
	}
	struct pass *free = now - there->of[0].answered > REPLACED_AFTER   ? &there->of[0]
			    : now - there->of[1].answered > REPLACED_AFTER ? &there->of[1]
									  : 0;
	if (!free || !is_unicast(p->family, p->remote) || !is_unicast(p->family, p->local))
		return 0;
	u32 version = begin_change(free);
	if (!version)
		return 0;
	BARRIER();
	free->answered = free->slow = now;
	free->open = free->hop_at = 0;
	__builtin_memcpy(free->local, p->local, sizeof(p->local));
	__builtin_memcpy(free->remote, p->remote, sizeof(p->remote));
	free->ports = ports_of(p);
	free->family = p->family;
	free->ifindex = ifindex;
	end_change(free, version);
	return 0;
}

INLINE u32 folded(u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* The network stack drops packets whose header has another checksum. */
INLINE int is_header_right(const u8 *ip)
{
	u64 sum = 0;
#pragma unroll
	for (int i = 0; i < 20; i += 2)
		sum += *(const u16 *)(ip + i);
	return folded(sum) == 0xffff;
}

/* Reads plain UDP. Returns its length from the IP header on; 0 for everything that needs the network stack. */
INLINE u32 read_datagram(const void *data, const void *end, struct packet *p, u32 *class)
{
	const u8 *ip = data + ETHERNET;
	u32 length = end - data;
	u32 total, header;
	if (data + ETHERNET + 28 > end)
		return 0;
	if (*(u16 *)(data + 12) == ETHERTYPE_IP) {
		if (ip[0] != 0x45 || ip[8] < 2 || ip[9] != UDP || *(u16 *)(ip + 6) & NETWORK_16(0x3fff) ||
		    !is_header_right(ip))
			return 0;
		header = 20;
		total = NETWORK_16(*(u16 *)(ip + 2));
		*class = ip[1];
		read_plain(ip, 4, p);
		p->payload_length = NETWORK_16(*(u16 *)(ip + 24));
		p->payload = *(u16 *)(ip + 26);
	} else if (*(u16 *)(data + 12) == ETHERTYPE_IPV6) {
		if (data + ETHERNET + 48 > end || ip[0] >> 4 != 6 || ip[6] != UDP || ip[7] < 2)
			return 0;
		header = 40;
		total = header + NETWORK_16(*(u16 *)(ip + 4));
		*class = *(u32 *)ip;
		read_plain(ip, 6, p);
		p->payload_length = NETWORK_16(*(u16 *)(ip + 44));
		p->payload = *(u16 *)(ip + 46);
	} else {
		return 0;
	}
	/* The network stack cuts off what follows the datagram. Padding of the shortest frames is no part of it. */
	if (p->payload_length < 8 || header + p->payload_length != total || ETHERNET + total > length ||
	    (ETHERNET + total < length && length > SHORTEST_FRAME))
		return 0;
	return total;
}

/*
 * Whether the UDP checksum is right, or there is none. A packet from a process of the same machine may have an unfinished
 * one. `p` was read by `read_datagram`.
 */
INLINE int is_datagram_right(struct xdp_md *ctx, const struct packet *p, u32 total)
{
	u32 first = 0, header = p->family == 4 ? 20 : 40;
	u32 length = total - header;
	struct datagram *there = bpf_map_lookup_elem(&datagram_now, &first);
	if (!p->payload)
		return p->family == 4;
	if (!there || length < 8 || length > VERIFIED_BYTES)
		return 0;
	length = bounded(length, 2048);
	if (length < 8 || length > VERIFIED_BYTES)
		return 0;
	if (bpf_xdp_load_bytes(ctx, ETHERNET + header, there->bytes, length))
		return 0;
	__builtin_memset(there->bytes + length, 0, 4);
	u32 rounded = (length + 3) & ~3u;
	u32 sum = bpf_csum_diff(0, 0, (u32 *)p->local, 32, NETWORK_16(length) + NETWORK_16(UDP));
	/* Older kernels sum 512 bytes at a time. */
	for (u32 at = 0; at < VERIFIED_BYTES; at += 512) {
		if (at >= rounded)
			break;
		u32 piece = rounded - at < 512 ? rounded - at : 512;
		piece = bounded(piece, 1024);
		if (piece > 512)
			return 0;
		sum = bpf_csum_diff(0, 0, (u32 *)(there->bytes + at), piece, sum);
	}
	return folded(sum) == 0xffff;
}

/* Reads the next hop, at most once a second. Returns the version after it, which is even, or 1 without a change. */
INLINE u32 read_hop(struct xdp_md *ctx, struct pass *there, const struct packet *p, u32 class, u32 now)
{
	/* A short packet, so that the kernel returns the MTU of the route. */
	struct bpf_fib_lookup fib = {.ifindex = ctx->ingress_ifindex, .l4_protocol = UDP, .tot_len = 28};
	fib.sport = p->remote_port;
	fib.dport = p->local_port;
	if (p->family == 4) {
		fib.family = AF_INET;
		fib.tos = class;
		fib.ipv4_src = p->remote[0];
		fib.ipv4_dst = p->local[0];
	} else {
		fib.family = AF_INET6;
		fib.flowinfo = class & __builtin_bswap32(0x0fffffff);
		__builtin_memcpy(fib.ipv6_src, p->remote, 16);
		__builtin_memcpy(fib.ipv6_dst, p->local, 16);
	}
	u32 version = begin_change(there);
	if (!version)
		return 1;
	u32 entered = ctx->ingress_ifindex;
	struct port *in = bpf_map_lookup_elem(&ports, &entered);
	int found = in && in->flags & PORT_IN && !bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) && fib.ifindex != entered;
	u32 leaves = fib.ifindex;
	struct port *out = found ? bpf_map_lookup_elem(&ports, &leaves) : 0;
	there->hop_at = now;
	there->class = class;
	there->hop_device = 0;
	if (out && out->flags & PORT_OUT) {
		there->hop_device = leaves;
		there->mtu = fib.tot_len;
		there->checks = in->flags & PORT_CHECKS;
		__builtin_memcpy(there->to, fib.dmac, 6);
		__builtin_memcpy(there->from, fib.smac, 6);
		__builtin_memcpy(there->own, in->mac, 6);
	}
	return end_change(there, version);
}

INLINE int is_mac(const u8 *frame, const u8 *mac)
{
	return !((*(const u16 *)frame ^ *(const u16 *)mac) | (*(const u16 *)(frame + 2) ^ *(const u16 *)(mac + 2)) |
		 (*(const u16 *)(frame + 4) ^ *(const u16 *)(mac + 4)));
}

INLINE void count_forwarded(u32 length)
{
	u32 first = 0;
	struct counter *counter = bpf_map_lookup_elem(&forwarded, &first);
	if (!counter)
		return;
	counter->packets++;
	counter->bytes += length;
}

/* Returns an XDP action. The packet is one that nftables accepts. */
INLINE int forward(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct packet p = {};
	u32 class = 0, now = now_seconds();
	u32 total = read_datagram(data, end, &p, &class);
	if (!total || now > forwarding_now.until)
		return XDP_PASS;
	u32 index = flow_hash(&p, settings_now.seed) & forwarding_now.mask;
	struct passes *known = bpf_map_lookup_elem(&passes, &index);
	if (!known)
		return XDP_PASS;
	struct pass *there = is_pass(&known->of[0], &p) ? &known->of[0] : &known->of[1];
	u32 version = PASS_VERSION(there);
	BARRIER();
	if (version & 1 || !is_pass(there, &p) || there->ifindex != ctx->ingress_ifindex ||
	    now - there->answered > UNANSWERED_AFTER)
		return XDP_PASS;
	if (now - there->slow >= SLOW_EVERY) {
		there->slow = now;
		return XDP_PASS;
	}
	if (there->hop_at != now || there->class != class)
		version = read_hop(ctx, there, &p, class, now);
	if (version & 1 || !there->hop_device || total > there->mtu || !is_mac(data, there->own) ||
	    (there->checks && !is_datagram_right(ctx, &p, total)))
		return XDP_PASS;
	u32 device = there->hop_device;
	u8 to[12];
	__builtin_memcpy(to, there->to, 12);
	BARRIER();
	if (PASS_VERSION(there) != version)
		return XDP_PASS;
	u8 *ip = data + ETHERNET;
	__builtin_memcpy(data, to, 12);
	if (p.family == 4) {
		u32 sum = *(u16 *)(ip + 10) + NETWORK_16(0x0100);
		*(u16 *)(ip + 10) = sum + (sum >= 0xffff);
		ip[8]--;
	} else {
		ip[7]--;
	}
	count_forwarded(ETHERNET + total);
	return bpf_redirect(device, 0);
}

#endif
