/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The data that the agent writes and the programs read. dataplane/xdp/maps/layout.ts has the same in TypeScript, and a
 * test compares both. Fields are little-endian unless network order is stated. There is no implicit padding.
 */
#ifndef PORTCULLIS_LAYOUT_H
#define PORTCULLIS_LAYOUT_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SMALL_RULES 16
#define LARGE_RULES 128
#define MAX_FORMS 16
#define MANAGED_PORTS 10
#define NAMED_DEVICES 8
#define LINE_SECOND 0x85ebca6bu
#define LINE_PORTS 6
#define LINE_WORDS 2

/*
 * The data that decides most packets of a flood, in one cache line: whether any rule of the destination could match a
 * TCP or UDP packet, and the verdict if none can. A destination has at most one line. Destinations without a line, and
 * packets that a line does not decide, are evaluated by the maps below. The index of a line is the hash of its
 * address, or that hash times LINE_SECOND if the first index is in use. The version is 0 while other fields change,
 * and differs before and after.
 */
struct line {
	u16 version;
	/*
	 * One bit for each port in `named`: whether it is a UDP port, and whether the rules must be evaluated for it.
	 */
	u8 udp, asks;
	/* The counter index of packets that match no rule; with LINE_PASSES, that of packets to a closed named port. */
	u32 place;
	union {
		struct {
			u32 address[1];
			/* The part of the source address that selects the bits of `sources`. */
			u32 source_mask;
			u32 unused[3];
		} of4;
		struct {
			u32 address[4];
			/* The mask of the second word; the first is used whole. */
			u32 source_mask;
		} of6;
	};
	union {
		/*
		 * All ports that rules name. A packet to a port without `asks`, from a source that no rule without a
		 * port may name, gets the other verdict.
		 */
		u16 named[LINE_PORTS];
		u32 wide;
	};
	/* Two bits for each source in a rule without a port, and for each port in `named`. */
	u64 sources, ports[LINE_WORDS];
};
/* Packets that match no rule pass. */
#define LINE_PASSES (1u << 31)
/* Too many ports or sources for `named`: more bits are in `wides`, at index `wide`. */
#define LINE_WIDE (1u << 30)
/* As EXACT: a UDP packet that the line passes is accepted. */
#define LINE_EXACT (1u << 29)
#define LINE_PLACE 0x1fffffffu

/* The bits of a line with many rules. */
#define WIDE_WORDS 32
struct wide {
	u64 sources[WIDE_WORDS], ports[WIDE_WORDS];
};

/* The settings of this edge, as one record. */
struct settings {
	u32 flags;
	/* The seconds for which a flow of the protected side is remembered: TCP, UDP, all others. */
	u32 remember_tcp, remember_udp, remember_other;
	/* The number of counter slots. The counters of one reason are contiguous, because a flood has one reason. */
	u32 slots;
	/* The secret of the flow hash: outsiders cannot tell which flows share an index. */
	u32 seed;
	/* The ports that always pass, as KEY. With MANY_MANAGED they are in a bitmap map instead. */
	u32 managed_count;
	u32 managed[MANAGED_PORTS];
	/* By family: the right shift from the hash of an address to its line. */
	u32 line_shift[2];
	u32 unused;
	/* Bits as in a line, of the ports that lines do not decide: management, and DHCP replies. */
	u64 passing_ports[LINE_WORDS];
	/* Indexes of the named devices. All 0: unknown, or more than fit. */
	u32 named[NAMED_DEVICES];
};
/* Replies to flows of the protected side pass (sees: both). */
#define KEEP_REPLIES 1u
/* Flows older than the programs are known too. Without this flag, nothing that may be a reply is dropped. */
#define FLOWS_COMPLETE 2u
#define HAS_PREFIXES_4 4u
#define HAS_PREFIXES_6 8u
#define HAS_VLANS 16u
#define MANY_MANAGED 32u
/* Replies from open ports and addresses are marked too, because these are about to be closed. */
#define MARKS_ALL 64u

/*
 * The head of the rules of an address or prefix. The memory of an element may be reused while a packet is evaluated by
 * it. Then `version` has changed or `check` does not match the packet, and the packet passes.
 */
struct head {
	u32 version;
	/* The address (for IPv6 the xor of its words); 0 for a prefix. */
	u32 check;
	/* The slot of its counters. */
	u32 slot;
	/* The number of rules, and of those without a port, which come first. */
	u16 rules, plain;
	/*
	 * The bits of all rules: without SOURCE_BIT the rules without a port are skipped, without PORT_BIT the others.
	 */
	u64 sources, ports;
	u8 fallback;
	u8 flags;
	u16 unused[3];
};
#define FALLBACK_PASS 0u
#define FALLBACK_DROP 1u
/* Every packet passes: the address has nothing to drop early, or too much for this stage. */
#define IN_LARGE 1u
/* The rules are elements of `spilled`, with one lookup for each form. */
#define SPILLED 2u
/* Some rule tests source sets, so the sets of the source are looked up first. */
#define ASKS_SETS 4u
/* Stateless mitigation drops exist: `stateless_drops` is looked up before the rules. The address has no line. */
#define MITIGATED 8u
/* Ports have filters: `filtered` is looked up for UDP packets that the rules pass. */
#define FILTERED 16u
/*
 * These rules are the whole policy of the address for UDP datagrams that are not fragmented: nftables accepts what they
 * pass. No mitigation, filter or other limit applies to such a datagram.
 */
#define EXACT 32u

/*
 * `match`: see KEY. The bits of `mask` within KEY are a mask; the verdict and its reason are above them. A rule on
 * source sets has the number of its union in `match`, and no other condition.
 */
struct rule4 {
	u32 source[1], source_mask[1], match, mask;
};
struct rule6 {
	u32 source[4], source_mask[4], match, mask;
};
/*
 * The KEY of a packet: the protocol in bits 16 to 23. With ports, also bit 24 and the destination port in the low
 * bits.
 */
#define KEY_HAS_PORT (1u << 24)
#define KEY_BITS 0x01ffffffu
#define RULE_DROPS (1u << 31)
#define RULE_REASON_SHIFT 28
#define RULE_REASON_BITS 3u
/* Matches by source sets: with RULE_INSIDE the sources inside the union, otherwise those outside. */
#define RULE_SETS (1u << 27)
#define RULE_INSIDE (1u << 26)

/* A lookup in `spilled`: the fields of its key. Forms are ordered by level; the first hit decides. */
struct form {
	u32 mask;
	u32 level;
	u32 source_mask[4];
};
struct spilled_key {
	u32 slot;
	u32 level;
	u32 match;
	u32 source[4];
};

/*
 * The key of a stateless mitigation drop, with the counter slot of its destination: a protocol (bits 16 to 23 of
 * `match`) from one source, or UDP from a source port (low bits, host order) with source 0 for any.
 */
struct stateless_key {
	u32 slot;
	u32 match;
	u32 source[4];
};
/* Packets from the first `count` networks pass. */
#define SAFE_NETWORKS 8
struct stateless_drop {
	u16 count;
	/* Flows that the destination has answered pass. Without KEEP_REPLIES these are unknown, and all pass. */
	u16 unanswered_only;
	struct {
		u32 address[4], mask[4];
	} safe[SAFE_NETWORKS];
};

/*
 * A port whose filter lets unvalidated sources send greetings only. A source is unvalidated unless the port has answered
 * it, so replies from such ports are marked as flows. The value is an index in `greetings`.
 */
struct filtered_key {
	u32 slot;
	/* Host order. */
	u32 port;
};

/* The bytes of a payload that greetings may name, eight at a time. */
#define GREETING_BYTES 64
#define GREETING_CHECKS 4
struct greeting {
	/* The shortest and longest payload. */
	u16 min, max;
	u32 unused;
	struct {
		u32 offset, unused;
		/* As read from the packet into a register. */
		u64 value, mask;
	} check[GREETING_CHECKS];
};
#define MAX_GREETINGS 16
struct greetings {
	u32 count, unused;
	struct greeting of[MAX_GREETINGS];
};
#define GREETING_SETS 256

struct small4 {
	struct head head;
	struct rule4 rule[SMALL_RULES];
};
struct small6 {
	struct head head;
	struct rule6 rule[SMALL_RULES];
};
struct large4 {
	struct head head;
	union {
		struct rule4 rule[LARGE_RULES];
		struct form form[MAX_FORMS];
	};
};
struct large6 {
	struct head head;
	union {
		struct rule6 rule[LARGE_RULES];
		struct form form[MAX_FORMS];
	};
};

struct prefix_key4 {
	u32 length;
	u32 address[1];
};
struct prefix_key6 {
	u32 length;
	u32 address[4];
};

/* A VLAN that is evaluated like a separate device. Tags in host order; inner is 0 for a single tag. */
struct vlan_key {
	u32 ifindex;
	u16 outer, inner;
};

struct counter {
	u64 packets, bytes;
};
/*
 * The counters of a slot: one for each reason, `slots` apart. Each map value holds many, because the kernel reaches
 * each value through a pointer; few pointers stay in the L1 cache.
 */
#define REASONS 6
#define REASON_MITIGATIONS 4u
#define REASON_GREETINGS 5u
#define REASON_BITS 7u
#define COUNTERS_IN_VALUE 64
struct counters {
	struct counter of[COUNTERS_IN_VALUE];
};

/* One in this number of drops of an address is sampled, the first included. */
#define SAMPLE_EVERY 1024
#define SAMPLE_BYTES 96
struct sample {
	/* Nanoseconds of CLOCK_MONOTONIC. */
	u64 at;
	u32 ifindex, slot;
	/* The length of the packet from its Ethernet header on, and the number of captured bytes that follow. */
	u32 length, captured;
	u32 reason, unused;
	u8 packet[SAMPLE_BYTES];
};

/*
 * The traffic of destinations, except drops by the rules of a single address, which `counters` has. The agent assigns
 * cells: one to each followed address and one to each watched network. Cell 0 is unused.
 */
#define CELLS 16384
struct watched {
	/* The cell of the address; 0 if it has none. */
	u32 cell;
	/* The cell of the containing network. */
	u32 around;
};
struct cell {
	/* Bytes count from the IP header on. The data fields count `tcp_data`, the ack fields `tcp_ack`. */
	u64 packets, bytes, data_packets, data_bytes, ack_packets;
	/* Large TCP packets that the address sent. */
	u64 sent_packets;
};

/* The counters of each vector (`VECTORS` of core/attacks/vectors.ts, in order), for cells with counted vectors. */
#define CLASSES 1024
#define VECTORS 27
struct classes {
	struct counter of[VECTORS];
};

/*
 * The addresses without a cell that receive the most, by majority vote for each index. Votes restart with each epoch.
 * CPUs write without synchronisation, so the result names candidates and never amounts.
 */
#define SUSPECTS 4096
#define EPOCH_SHIFT 28
struct suspect {
	u32 epoch, votes, packets, family;
	u64 bytes;
	u32 address[4];
};

/* A sampled packet to a subject with counted vectors. */
#define REPORTED_SAMPLE_BYTES 40
struct reported_sample {
	u32 local[4], remote[4];
	/* Host order. */
	u16 local_port, remote_port;
	/* The number of packets that the sample stands for. */
	u16 packets;
	u8 family, protocol;
};

/* The counting settings, which the agent writes and the programs read. */
#define REPORTED_BITS 14
#define REPORTED_WORDS 256
struct counting {
	/* Whether anything is watched. */
	u32 watching;
	/* The sampling interval of subjects with counted vectors, minus one. The interval is a power of two. */
	u16 sample_mask;
	/* One in 2^vector_shift packets that rules of an address drop is counted by its vector, for all of them. */
	u16 vector_shift;
	/* A bit for each address hash: count vectors of its drops. */
	u64 reported[REPORTED_WORDS];
	/* The slot in `classes` of each cell, plus 1; 0 if its vectors are not counted. */
	u32 classes[CELLS];
};

/* A next hop of packets that are forwarded without the network stack. */
struct hop {
	/* The second in which it was read, and its device; 0 without one. */
	u32 at, device;
	/* The traffic class, which routes may depend on: TOS of IPv4, the first word of IPv6. */
	u32 class;
	u16 mtu;
	/* The destination and source MAC addresses of its frames, and the address that packets come in for. */
	u8 to[6], from[6], own[6];
};

/*
 * A UDP flow that the protected side has answered, so that its packets may be forwarded without the network stack. Times
 * are seconds since boot plus 1. An index has PASS_WAYS places; without a free one the network stack forwards the flow.
 */
#define PASS_WAYS 2
struct pass {
	/* Odd while other fields change; it differs before and after. */
	u32 version;
	/*
	 * The second of the last answer, of the last packet that the network stack got, and of the last evaluation by
	 * which answers need no mark.
	 */
	u32 answered, slow, open;
	/* In network order. */
	u32 local[4], remote[4];
	u32 ports;
	u16 family;
	/* By direction, as `hops`: the UDP checksum is verified. */
	u8 checks[2];
	/* The device that the last answer left by. */
	u32 ifindex;
	/* The device by which an answer entered in the second `open`; 0 if answers need the network stack. */
	u32 entered;
	/* To the protected side, and from it. */
	struct hop hops[2];
};
struct passes {
	struct pass of[PASS_WAYS];
};

/* Forwarding without the network stack. Until the second `until`; 0 is never. `mask`: the highest index in `passes`. */
struct forwarding {
	u32 until, mask;
};

/* A device that forwarded packets may enter by (PORT_IN), or leave by after XDP (PORT_OUT). */
struct port {
	u8 mac[6];
	u16 flags;
};
#define PORT_IN 1
#define PORT_OUT 2
/* UDP checksums of packets that enter may be unfinished: the network stack finishes them. */
#define PORT_CHECKS 4
/* Written by the programs: answers that may be forwarded enter by it. */
#define PORT_ANSWERS 8
/* As PORT_OUT, for what tc redirects: the device need not take frames from XDP. */
#define PORT_TC_OUT 16

/* Both are powers of two. A flow mark is the time in seconds since boot (0: never); a host mark is 1. */
#define FLOW_MARKS (1u << 21)
#define HOST_BITS 12
#define HOST_MARKS (1u << 12)

#endif
