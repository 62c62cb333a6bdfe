/*
 * What the agent writes and the programs read. dataplane/xdp/maps/layout.ts has the same in TypeScript, and a test holds
 * the two together. All fields are little-endian or network order as said; nothing here is padded by chance.
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
#define LINE_SECOND 0x85ebca6bu
#define LINE_PORTS 6
#define LINE_WORDS 2

/*
 * What most of a flood is judged by, in one cache line: whether a packet of TCP or UDP could match any rule of its
 * destination, and what becomes of it when it cannot. A destination has at most one line. Who has none is judged by
 * the maps below, and so is every packet that its line does not decide.
 *
 * A line stands where the hash of its address says, or, where another was before, where it says times LINE_SECOND.
 *
 * While anything else of a line changes its version is 0, before and after that another each time.
 */
struct line {
	u16 version;
	/* Of the ports in `named` by bits: whether it is one of UDP, and whether the rules must be asked about it. */
	u8 udp, asks;
	/* Index of the counter of what no rule matches, or with LINE_PASSES of what a named port is closed to. */
	u32 place;
	union {
		struct {
			u32 address[1];
			/* So much of a source counts for `sources`. */
			u32 source_mask;
			u32 unused[3];
		} of4;
		struct {
			u32 address[4];
			/* Of the second word; the first counts as it is. */
			u32 source_mask;
		} of6;
	};
	union {
		/*
		 * All ports that rules name. Who sends to one that need not be asked about, and is no source that a
		 * rule without a port may name, has the other fate.
		 */
		u16 named[LINE_PORTS];
		u32 wide;
	};
	/* Two bits for each source that a rule without a port names, and for each port in `named`. */
	u64 sources, ports[LINE_WORDS];
};
/* What no rule matches passes on. */
#define LINE_PASSES (1u << 31)
/* All bits are set, and what they would say stands in `wides`, at `wide`. */
#define LINE_WIDE (1u << 30)
#define LINE_PLACE 0x3fffffffu

/* The bits of a line with many rules. */
#define WIDE_WORDS 32
struct wide {
	u64 sources[WIDE_WORDS], ports[WIDE_WORDS];
};

/* One record, of how this edge judges. */
struct settings {
	u32 flags;
	/* Seconds for which a flow of the protected side is remembered: TCP, UDP, all others. */
	u32 remember_tcp, remember_udp, remember_other;
	/* Places of counters: those of one reason stand together, for a flood has one. */
	u32 slots;
	/* Of the hash of flows: nobody outside knows which of them share a place. */
	u32 seed;
	/* Ports that always pass on, as KEY; with MANY_MANAGED they stand in a map of bits instead. */
	u32 managed_count;
	u32 managed[MANAGED_PORTS];
	/* By family. Of the hash of an address, its line is what is left of this many bits more to the right. */
	u32 line_shift[2];
	u32 unused;
	/* Bits as those of a line, of ports that lines do not judge: management, and answers of DHCP. */
	u64 passing_ports[LINE_WORDS];
};
/* Replies to what the protected side opened pass (sees: both). */
#define KEEP_REPLIES 1u
/* Flows that began before us are known too: without this, nothing that may be a reply is dropped. */
#define FLOWS_COMPLETE 2u
#define HAS_PREFIXES_4 4u
#define HAS_PREFIXES_6 8u
#define HAS_VLANS 16u
#define MANY_MANAGED 32u
/* Answers from what is open are marked too: it is about to be closed. */
#define MARKS_ALL 64u

/*
 * What stands before the rules of an address or prefix. The memory of an element may be used again for another
 * while a packet is judged by it: `version` is then another, or `check` is not the packet's, and it is passed on.
 */
struct head {
	u32 version;
	/* The address (of IPv6 its words, xor); 0 for a prefix. */
	u32 check;
	/* Place of its counters. */
	u32 slot;
	/* All rules; the first `plain` of them name no port. */
	u16 rules, plain;
	/* Bits of what some rule could match: without SOURCE_BIT the plain rules, without PORT_BIT the others are skipped. */
	u64 sources, ports;
	u8 fallback;
	u8 flags;
	u16 unused[3];
};
#define FALLBACK_PASS 0u
#define FALLBACK_DROP 1u
/* Everything passes on: this address has nothing to drop early, or too much for this stage. */
#define IN_LARGE 1u
/* The rules are elements of `spilled`, looked up form by form. */
#define SPILLED 2u
/* Some rule asks in which source sets the source is: that is looked up first. */
#define ASKS_SETS 4u
/* Mitigations drop something by the packet alone: `struck` is looked into before the rules. It has no line. */
#define STRUCK 8u

/*
 * `match`: see KEY. Of `mask`, the bits of KEY are a mask; above them stand the verdict and its reason. A rule on
 * source sets has the number of its union in `match`, and no other condition.
 */
struct rule4 {
	u32 source[1], source_mask[1], match, mask;
};
struct rule6 {
	u32 source[4], source_mask[4], match, mask;
};
/* KEY of a packet: protocol in bits 16 to 23, and with ports bit 24 and the destination port below. */
#define KEY_HAS_PORT (1u << 24)
#define KEY_BITS 0x01ffffffu
#define RULE_DROPS (1u << 31)
#define RULE_REASON_SHIFT 28
#define RULE_REASON_BITS 3u
/* Matches by source sets: those inside the union, else those outside. */
#define RULE_SETS (1u << 27)
#define RULE_INSIDE (1u << 26)

/* A look-up in `spilled`: the fields of the key that it asks for. Lowest level first, the first hit decides. */
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
 * What mitigations drop by the packet alone, by the place of the counters of its destination: a protocol (in bits 16
 * to 23 of `match`) from one source, or UDP from a port (below, in host order) whatever the source (0).
 */
struct struck_key {
	u32 slot;
	u32 match;
	u32 source[4];
};
/* The first `count` of these sources are spared. */
#define SAFE_NETWORKS 8
struct struck {
	u32 count;
	struct {
		u32 address[4], mask[4];
	} safe[SAFE_NETWORKS];
};

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

/* A VLAN over a device that is judged as if it were a device of its own. Tags in host order, inner 0: one tag. */
struct vlan_key {
	u32 ifindex;
	u16 outer, inner;
};

struct counter {
	u64 packets, bytes;
};
/*
 * Counters of a slot: one for each reason, `slots` apart. Many stand in one value, because the kernel finds each value
 * by a pointer of its own: those few stay within the first cache.
 */
#define REASONS 4
#define REASON_MITIGATIONS 3u
#define COUNTERS_IN_VALUE 64
struct counters {
	struct counter of[COUNTERS_IN_VALUE];
};

/* One in so many drops of an address is kept as a sample, the first among them. */
#define SAMPLE_EVERY 1024
#define SAMPLE_BYTES 96
struct sample {
	/* Nanoseconds of CLOCK_MONOTONIC. */
	u64 at;
	u32 ifindex, slot;
	/* Length of the packet from its Ethernet header on, and how much of it follows. */
	u32 length, captured;
	u32 reason, unused;
	u8 packet[SAMPLE_BYTES];
};

/*
 * What destinations get, beside what is dropped by the rules of one address alone: `counters` has that. Cells are
 * handed out by the agent, one to a destination that is followed and one to each network that is watched; cell 0 is
 * nobody's.
 */
#define CELLS 16384
struct watched {
	/* Its own; 0: it has none. */
	u32 cell;
	/* Of the network around it. */
	u32 around;
};
struct cell {
	/* Bytes from the IP header on. Of them, those of `tcp_data`; packets of `tcp_ack`. */
	u64 packets, bytes, data_packets, data_bytes, ack_packets;
	/* Large packets of TCP that it sent. */
	u64 sent_packets;
};

/* By vector, of cells that are told apart: `VECTORS` of core/attacks/vectors.ts, in its order. */
#define CLASSES 1024
#define VECTORS 25
struct classes {
	struct counter of[VECTORS];
};

/*
 * Who without a cell gets much: whoever has the majority in a place, by votes. Places begin anew with each epoch.
 * Processors write them without asking each other, so they say where to look, and never how much it was.
 */
#define SUSPECTS 4096
#define EPOCH_SHIFT 28
struct suspect {
	u32 epoch, votes, packets, family;
	u64 bytes;
	u32 address[4];
};

/* One of some packets to who is told apart: who sends to whom. */
#define TOLD_SAMPLE_BYTES 40
struct told_sample {
	u32 local[4], remote[4];
	/* Host order. */
	u16 local_port, remote_port;
	/* Stands for so many. */
	u16 packets;
	u8 family, protocol;
};

/* What the agent writes and the programs read. */
#define TOLD_BITS 14
#define TOLD_WORDS 256
struct counting {
	/* Something is watched. */
	u32 watching;
	/* One in so many packets of who is told apart is a sample, by chance; less one, of a power of two. */
	u32 sample_mask;
	/* By hash of an address: what is dropped of it is told apart. */
	u64 told[TOLD_WORDS];
	/* Of each cell, its place in `classes` plus 1; 0: not told apart. */
	u32 classes[CELLS];
};

/* Both powers of two. Flows are marked with seconds since the host started (0: never), hosts with 1. */
#define FLOW_MARKS (1u << 21)
#define HOST_BITS 12
#define HOST_MARKS (1u << 12)

#endif
