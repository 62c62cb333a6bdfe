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
			found->hops[INGRESS].at = 0;
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
	free->open = free->entered = free->hops[INGRESS].at = free->hops[EGRESS].at = 0;
	__builtin_memcpy(free->local, p->local, sizeof(p->local));
	__builtin_memcpy(free->remote, p->remote, sizeof(p->remote));
	free->ports = ports_of(p);
	free->family = p->family;
	free->ifindex = ifindex;
	end_change(free, version);
	return 0;
}

/*
 * Answers of the flow need no mark in this second. `entered`: the device that the network stack got this one from; 0 if
 * it must get all.
 */
INLINE void open_pass(const struct packet *p, u32 hash, u32 entered, u32 now)
{
	struct pass *there = find_pass(p, hash);
	struct port *in = there && entered ? bpf_map_lookup_elem(&ports, &entered) : 0;
	if (in && !(in->flags & PORT_ANSWERS))
		in->flags |= PORT_ANSWERS;
	u32 version = there ? begin_change(there) : 0;
	if (!version)
		return;
	BARRIER();
	/* Another CPU may have replaced the flow. */
	if (is_pass(there, p)) {
		there->open = now;
		there->entered = entered;
	}
	end_change(there, version);
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

/* The protected side is the source of its answers. */
INLINE void reverse(struct packet *p)
{
#pragma unroll
	for (int i = 0; i < 4; i++) {
		u32 remote = p->local[i];
		p->local[i] = p->remote[i];
		p->remote[i] = remote;
	}
	u16 port = p->local_port;
	p->local_port = p->remote_port;
	p->remote_port = port;
}

/* Reads plain UDP. Returns its length from the IP header on; 0 for everything that needs the network stack. */
INLINE u32 read_datagram(void *ctx, enum hook hook, enum direction direction, struct packet *p, u32 *class)
{
	const void *data = data_of(ctx, hook), *end = end_of(ctx, hook);
	const u8 *ip = data + ETHERNET;
	u32 length = hook == AT_XDP ? end - data : ((struct __sk_buff *)ctx)->len;
	u32 total, header;
	if (data + ETHERNET + 28 > end || removed_tag(ctx, hook) ||
	    (hook == AT_TC && ((struct __sk_buff *)ctx)->gso_size))
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
	if (direction == EGRESS)
		reverse(p);
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
INLINE u32 read_hop(void *ctx, enum hook hook, enum direction direction, struct pass *there, const struct packet *p,
		    u32 class, u32 now)
{
	u32 entered = ifindex_of(ctx, hook);
	/* A short packet, so that the kernel returns the MTU of the route. */
	struct bpf_fib_lookup fib = {.ifindex = entered, .l4_protocol = UDP, .tot_len = 28};
	const u32 *source = direction == INGRESS ? p->remote : p->local;
	const u32 *destination = direction == INGRESS ? p->local : p->remote;
	fib.sport = direction == INGRESS ? p->remote_port : p->local_port;
	fib.dport = direction == INGRESS ? p->local_port : p->remote_port;
	if (p->family == 4) {
		fib.family = AF_INET;
		fib.tos = class;
		fib.ipv4_src = source[0];
		fib.ipv4_dst = destination[0];
	} else {
		fib.family = AF_INET6;
		fib.flowinfo = class & __builtin_bswap32(0x0fffffff);
		__builtin_memcpy(fib.ipv6_src, source, 16);
		__builtin_memcpy(fib.ipv6_dst, destination, 16);
	}
	u32 version = begin_change(there);
	if (!version)
		return 1;
	struct hop *hop = &there->hops[direction];
	struct port *in = bpf_map_lookup_elem(&ports, &entered);
	int found = in && in->flags & PORT_IN && !bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) && fib.ifindex != entered;
	u32 leaves = fib.ifindex;
	struct port *out = found ? bpf_map_lookup_elem(&ports, &leaves) : 0;
	hop->at = now;
	hop->class = class;
	hop->device = 0;
	if (out && out->flags & (hook == AT_XDP ? PORT_OUT : PORT_TC_OUT)) {
		hop->device = leaves;
		hop->mtu = fib.tot_len;
		there->checks[direction] = in->flags & PORT_CHECKS;
		__builtin_memcpy(hop->to, fib.dmac, 6);
		__builtin_memcpy(hop->from, fib.smac, 6);
		__builtin_memcpy(hop->own, in->mac, 6);
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

/* One hop less, as the network stack writes it. The last use of the packet's memory. */
INLINE void age(void *ctx, enum hook hook, u8 *ip, u32 family)
{
	if (family == 4) {
		u32 sum = *(u16 *)(ip + 10) + NETWORK_16(0x0100);
		*(u16 *)(ip + 10) = sum + (sum >= 0xffff);
		ip[8]--;
	} else if (hook == AT_XDP) {
		ip[7]--;
	} else {
		/* A card may have summed the packet, which has no checksum to make up for the change. */
		u8 changed[2] = {UDP, ip[7] - 1};
		bpf_skb_store_bytes(ctx, ETHERNET + 6, changed, sizeof(changed), BPF_F_RECOMPUTE_CSUM);
	}
}

/* Sends a packet of a known flow to its next hop. Returns whether it does: the action is that of a redirection. */
INLINE int send_on(void *ctx, enum hook hook, enum direction direction, struct pass *there, const struct packet *p,
		   u32 total, u32 class, u32 version, u32 now)
{
	struct hop *hop = &there->hops[direction];
	void *data = data_of(ctx, hook), *end = end_of(ctx, hook);
	if (data + ETHERNET + 28 > end)
		return 0;
	if (hop->at != now || hop->class != class)
		version = read_hop(ctx, hook, direction, there, p, class, now);
	u32 device = hop->device;
	if (version & 1 || !device || total > hop->mtu || !is_mac(data, hop->own) ||
	    (direction == EGRESS && device != there->ifindex))
		return 0;
	/* The kernel finishes checksums of what leaves as a buffer. */
	if (hook == AT_XDP && there->checks[direction] && !is_datagram_right(ctx, p, total))
		return 0;
	u8 to[12];
	__builtin_memcpy(to, hop->to, 12);
	BARRIER();
	if (PASS_VERSION(there) != version)
		return 0;
	__builtin_memcpy(data, to, 12);
	age(ctx, hook, data + ETHERNET, p->family);
	count_forwarded(ETHERNET + total);
	bpf_redirect(device, 0);
	return 1;
}

/* The flow of a packet and its version, which is even; null if it is not known, or changes now. */
INLINE struct pass *known_pass(const struct packet *p, u32 *version)
{
	struct pass *there = find_pass(p, flow_hash(p, settings_now.seed));
	if (!there)
		return 0;
	*version = PASS_VERSION(there);
	BARRIER();
	return *version & 1 || !is_pass(there, p) ? 0 : there;
}

/* Returns whether the packet, which nftables would accept, is forwarded. */
INLINE int forward(void *ctx, enum hook hook)
{
	struct packet p = {};
	u32 class = 0, version = 0, now = now_seconds();
	u32 total = read_datagram(ctx, hook, INGRESS, &p, &class);
	if (!total || now > forwarding_now.until)
		return 0;
	struct pass *there = known_pass(&p, &version);
	if (!there || there->ifindex != ifindex_of(ctx, hook) || now - there->answered > UNANSWERED_AFTER)
		return 0;
	if (now - there->slow >= SLOW_EVERY) {
		there->slow = now;
		return 0;
	}
	return send_on(ctx, hook, INGRESS, there, &p, total, class, version, now);
}

/*
 * Returns whether the packet, which enters by a device that is not named, is forwarded. It is only in a second in which
 * the network stack has forwarded another one of its flow between the same two devices, and the egress program found
 * that answers need no mark. So nothing of a flow is older than a second, and the network stack gets one packet in each.
 */
INLINE int forward_answer(void *ctx, enum hook hook)
{
	struct packet p = {};
	u32 class = 0, version = 0, now = now_seconds();
	u32 keeping = settings_now.flags & (KEEP_REPLIES | MARKS_ALL);
	if (now > forwarding_now.until || keeping != KEEP_REPLIES)
		return 0;
	u32 total = read_datagram(ctx, hook, EGRESS, &p, &class);
	struct pass *there = total ? known_pass(&p, &version) : 0;
	if (!there || there->open != now || there->entered != ifindex_of(ctx, hook))
		return 0;
	return send_on(ctx, hook, EGRESS, there, &p, total, class, version, now);
}

#endif
