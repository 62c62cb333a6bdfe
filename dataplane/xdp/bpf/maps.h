/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The maps of the programs. Sizes are minimal; the agent sets them as needed. */
#ifndef PORTCULLIS_MAPS_H
#define PORTCULLIS_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "layout.h"

#define INLINE static __always_inline
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NETWORK_16(x) ((u16)__builtin_bswap16(x))

#define EXPORT __attribute__((used))
struct map_definition {
	u32 type, key_size, value_size, max_entries, flags;
};
#define MAP(name, kind, key, value, entries, options) \
	struct map_definition name SEC("maps") EXPORT = {kind, key, value, entries, options}

MAP(settings, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct settings), 1, 0);
MAP(management, BPF_MAP_TYPE_ARRAY, 4, 8, 2048, 0);
MAP(vlans, BPF_MAP_TYPE_HASH, sizeof(struct vlan_key), 4, 65536, BPF_F_NO_PREALLOC);
MAP(lines_4, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct line), 64, 0);
MAP(lines_6, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct line), 64, 0);
MAP(wides, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct wide), 64, 0);
MAP(small_4, BPF_MAP_TYPE_HASH, 4, sizeof(struct small4), 64, BPF_F_NO_PREALLOC);
MAP(small_6, BPF_MAP_TYPE_HASH, 16, sizeof(struct small6), 64, BPF_F_NO_PREALLOC);
MAP(large_4, BPF_MAP_TYPE_HASH, 4, sizeof(struct large4), 64, BPF_F_NO_PREALLOC);
MAP(large_6, BPF_MAP_TYPE_HASH, 16, sizeof(struct large6), 64, BPF_F_NO_PREALLOC);
MAP(prefix_4, BPF_MAP_TYPE_LPM_TRIE, sizeof(struct prefix_key4), sizeof(struct large4), 64, BPF_F_NO_PREALLOC);
MAP(prefix_6, BPF_MAP_TYPE_LPM_TRIE, sizeof(struct prefix_key6), sizeof(struct large6), 64, BPF_F_NO_PREALLOC);
/* The unions of source sets by source network, one bit for each union. */
MAP(sets_4, BPF_MAP_TYPE_LPM_TRIE, sizeof(struct prefix_key4), 8, 64, BPF_F_NO_PREALLOC);
MAP(sets_6, BPF_MAP_TYPE_LPM_TRIE, sizeof(struct prefix_key6), 8, 64, BPF_F_NO_PREALLOC);
MAP(spilled, BPF_MAP_TYPE_HASH, sizeof(struct spilled_key), 4, 64, BPF_F_NO_PREALLOC);
MAP(stateless_drops, BPF_MAP_TYPE_HASH, sizeof(struct stateless_key), sizeof(struct stateless_drop), 64, BPF_F_NO_PREALLOC);
MAP(filtered, BPF_MAP_TYPE_HASH, sizeof(struct filtered_key), 4, 64, BPF_F_NO_PREALLOC);
MAP(greetings, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct greetings), GREETING_SETS, 0);
/* The program that evaluates greetings. An array holds programs of one type only. */
MAP(greeters, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1, 0);
MAP(greeters_tc, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1, 0);
/* The program that forwards, as `greeters`. */
MAP(forwarders, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1, 0);
MAP(forwarders_tc, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1, 0);
MAP(passes, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct passes), 64, 0);
MAP(forwarding, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct forwarding), 1, 0);
MAP(ports, BPF_MAP_TYPE_HASH, 4, sizeof(struct port), 4096, BPF_F_NO_PREALLOC);
MAP(forwarded, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct counter), 1, 0);
MAP(counters, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct counters), REASONS, 0);
MAP(samples, BPF_MAP_TYPE_RINGBUF, 0, 0, 262144, 0);
MAP(flow_marks, BPF_MAP_TYPE_ARRAY, 4, 4, FLOW_MARKS, 0);
MAP(host_marks, BPF_MAP_TYPE_ARRAY, 4, HOST_MARKS, 1, BPF_F_MMAPABLE);
MAP(watched_4, BPF_MAP_TYPE_HASH, 4, sizeof(struct watched), CELLS, BPF_F_NO_PREALLOC);
MAP(watched_6, BPF_MAP_TYPE_HASH, 16, sizeof(struct watched), CELLS, BPF_F_NO_PREALLOC);
MAP(around_4, BPF_MAP_TYPE_LPM_TRIE, sizeof(struct prefix_key4), sizeof(struct watched), 131072, BPF_F_NO_PREALLOC);
MAP(around_6, BPF_MAP_TYPE_LPM_TRIE, sizeof(struct prefix_key6), sizeof(struct watched), 131072, BPF_F_NO_PREALLOC);
MAP(cells, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct cell), CELLS, 0);
MAP(classes, BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct classes), CLASSES, 0);
MAP(suspects, BPF_MAP_TYPE_ARRAY, 4, SUSPECTS * sizeof(struct suspect), 1, BPF_F_MMAPABLE);
MAP(reported_samples, BPF_MAP_TYPE_RINGBUF, 0, 0, 65536, 0);
MAP(counting, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct counting), 1, BPF_F_MMAPABLE);

/* Data in maps with a single value, which is read directly without a lookup. */
struct settings settings_now SEC("value:settings") EXPORT;
struct forwarding forwarding_now SEC("value:forwarding") EXPORT;
u8 hosts[HOST_MARKS] SEC("value:host_marks") EXPORT;
struct suspect suspects_now[SUSPECTS] SEC("value:suspects") EXPORT;
struct counting counting_now SEC("value:counting") EXPORT;

#endif
