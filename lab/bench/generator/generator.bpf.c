/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Makes packets in the kernel, for measurements: each run of the program writes one packet anew over whatever the
 * buffer held and sends it out of the device it stands on (BPF_F_TEST_XDP_LIVE_FRAMES). One CPU at a time.
 * The buffer is as long as the packet: see FRAME_BYTES in generator.ts.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

/* What to make. Addresses are four words in network order, of which IPv4 is the last; the rest is host order. */
struct plan {
	/* xorshift64*; never 0. */
	u64 random;
	u8 to[6], from[6];
	u32 family;
	/* Of 65,536 packets so many are TCP (SYN), the others UDP. */
	u32 tcp_share;
	/* The last word of the destination is `destination + random below destinations`. */
	u32 destination[4], destinations;
	/* Of 65,536 packets so many go to `outside` plus at most 65,535 instead. */
	u32 outside_share, outside[4];
	/* The last word of the source is `source` with random bits under this mask. */
	u32 source[4], source_random;
	u16 source_port, source_ports, port, ports;
	/* How many of the 256 bytes that XDP reserves before a packet are not free. */
	u32 headroom_less;
};

struct {
	u32 type, key_size, value_size, max_entries, flags;
} plans SEC("maps") __attribute__((used)) = {BPF_MAP_TYPE_ARRAY, 4, sizeof(struct plan), 1, 0};

#define INLINE static __always_inline
#define NETWORK_16(x) ((u16)__builtin_bswap16(x))
#define NETWORK_32(x) __builtin_bswap32(x)
#define UDP 17
#define TCP 6
#define SYN 2
#define TTL 64

struct ethernet {
	u8 to[6], from[6];
	u16 type;
} __attribute__((packed, aligned(2)));

struct ip4 {
	u8 version, service;
	u16 length, id, fragment;
	u8 ttl, protocol;
	u16 checksum;
	u32 source, destination;
} __attribute__((packed, aligned(2)));

struct ip6 {
	u32 version;
	u16 length;
	u8 next, hops;
	u32 source[4], destination[4];
} __attribute__((packed, aligned(2)));

/* The longer of both: UDP uses the first 8 bytes. */
struct upper {
	u16 source, destination;
	u16 words[8];
} __attribute__((packed, aligned(2)));

struct frame4 {
	struct ethernet ethernet;
	struct ip4 ip;
	struct upper upper;
	u8 padding[6];
} __attribute__((packed, aligned(2)));

struct frame6 {
	struct ethernet ethernet;
	struct ip6 ip;
	struct upper upper;
} __attribute__((packed, aligned(2)));

INLINE u64 draw(struct plan *plan)
{
	u64 x = plan->random;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	plan->random = x;
	return x * 0x2545F4914F6CDD1DULL;
}

INLINE u32 below(u32 random, u32 count)
{
	return (u64)random * count >> 32;
}

INLINE u16 folded(u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

INLINE u32 halves(u32 word)
{
	return (word & 0xffff) + (word >> 16);
}

INLINE void write_ethernet(struct ethernet *ethernet, struct plan *plan, u16 type)
{
	__builtin_memcpy(ethernet->to, plan->to, 6);
	__builtin_memcpy(ethernet->from, plan->from, 6);
	ethernet->type = NETWORK_16(type);
}

/* `sum`: of the pseudo-header's addresses. All that follows the header is zero and changes no sum. */
INLINE void write_upper(struct upper *upper, struct plan *plan, int tcp, u16 length, u32 sum, u64 random)
{
	__builtin_memset(upper->words, 0, sizeof(upper->words));
	upper->source = NETWORK_16(plan->source_port + below((u32)random, plan->source_ports));
	upper->destination = NETWORK_16(plan->port + below(random >> 32, plan->ports));
	sum += upper->source + upper->destination + NETWORK_16(length);
	if (tcp) {
		/* Sequence, acknowledgement, header length and flags, window, checksum, urgent. */
		upper->words[4] = NETWORK_16(5 << 12 | SYN);
		upper->words[5] = NETWORK_16(64240);
		sum += upper->words[4] + upper->words[5] + NETWORK_16(TCP);
		upper->words[6] = folded(sum);
	} else {
		upper->words[0] = NETWORK_16(length);
		sum += upper->words[0] + NETWORK_16(UDP);
		u16 checksum = folded(sum);
		upper->words[1] = checksum ? checksum : 0xffff;
	}
}

INLINE int write4(struct frame4 *frame, struct plan *plan)
{
	u64 random = draw(plan), choice = draw(plan);
	int tcp = (u16)choice < plan->tcp_share;
	u16 length = sizeof(*frame) - sizeof(struct ethernet);
	write_ethernet(&frame->ethernet, plan, 0x0800);
	struct ip4 *ip = &frame->ip;
	ip->version = 0x45;
	ip->service = 0;
	ip->length = NETWORK_16(length);
	ip->id = 0;
	ip->fragment = 0;
	ip->ttl = TTL;
	ip->protocol = tcp ? TCP : UDP;
	ip->source = plan->source[3] ^ ((u32)random & plan->source_random);
	u32 destination = (u16)(choice >> 16) < plan->outside_share
				  ? NETWORK_32(plan->outside[3]) + (u16)random
				  : NETWORK_32(plan->destination[3]) + below(random >> 32, plan->destinations);
	ip->destination = NETWORK_32(destination);
	u32 addresses = halves(ip->source) + halves(ip->destination);
	u32 sum = NETWORK_16(0x4500) + ip->length + NETWORK_16(TTL << 8 | ip->protocol) + addresses;
	ip->checksum = folded(sum);
	/* Part of the payload, and of other data where the frame begins earlier in its buffer. */
	__builtin_memset(frame->padding, 0, sizeof(frame->padding));
	write_upper(&frame->upper, plan, tcp, length - sizeof(*ip), addresses, draw(plan));
	return XDP_TX;
}

INLINE int write6(struct frame6 *frame, struct plan *plan)
{
	u64 random = draw(plan), choice = draw(plan);
	int tcp = (u16)choice < plan->tcp_share;
	int outside = (u16)(choice >> 16) < plan->outside_share;
	u16 length = sizeof(struct upper);
	write_ethernet(&frame->ethernet, plan, 0x86dd);
	struct ip6 *ip = &frame->ip;
	ip->version = NETWORK_32(6u << 28);
	ip->length = NETWORK_16(length);
	ip->next = tcp ? TCP : UDP;
	ip->hops = TTL;
	u32 sum = 0;
#pragma unroll
	for (int word = 0; word < 4; word++) {
		ip->source[word] = plan->source[word];
		ip->destination[word] = outside ? plan->outside[word] : plan->destination[word];
	}
	ip->source[3] ^= (u32)random & plan->source_random;
	u32 offset = outside ? (u16)random : below(random >> 32, plan->destinations);
	ip->destination[3] = NETWORK_32(NETWORK_32(ip->destination[3]) + offset);
#pragma unroll
	for (int word = 0; word < 4; word++)
		sum += halves(ip->source[word]) + halves(ip->destination[word]);
	write_upper(&frame->upper, plan, tcp, length, sum, draw(plan));
	return XDP_TX;
}

SEC("xdp")
int generate(struct xdp_md *context)
{
	u32 first = 0;
	struct plan *plan = bpf_map_lookup_elem(&plans, &first);
	if (!plan)
		return XDP_ABORTED;
	int moved = -(int)plan->headroom_less;
	if (moved && (bpf_xdp_adjust_head(context, moved) || bpf_xdp_adjust_tail(context, moved)))
		return XDP_ABORTED;
	void *data = (void *)(long)context->data, *end = (void *)(long)context->data_end;
	if (plan->family == 4)
		return data + sizeof(struct frame4) > end ? XDP_ABORTED : write4(data, plan);
	return data + sizeof(struct frame6) > end ? XDP_ABORTED : write6(data, plan);
}

char _license[] SEC("license") = "Dual MIT/GPL";
