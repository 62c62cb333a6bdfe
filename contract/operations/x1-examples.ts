/** Examples of the x1 operations; a test holds each to its schema. */

const SINCE = '2026-01-01T00:00:00+00:00';

export const HELD = {
  data: {
    prefixes: [
      { prefix: '203.0.113.0/24', asn: 64_500, service_id: null, since: SINCE, until: null },
    ],
    addresses: [
      {
        ip: '198.51.100.10',
        service_id: 501,
        service_name: 'survival-1',
        since: SINCE,
        until: null,
        rules_count: 0,
        filters_count: 0,
        dropped_packets: 0,
      },
      {
        ip: '203.0.113.10',
        service_id: null,
        service_name: null,
        since: SINCE,
        until: null,
        rules_count: 2,
        filters_count: 1,
        dropped_packets: 18_422,
      },
    ],
  },
  links: { next: null },
  meta: { per_page: 1000, configured_addresses: { used: 1, limit: 10_000 } },
};

export const CLOSING = { target: '203.0.113.10', default: 'deny' };

export const CLOSED_ADDRESS = {
  data: { target: '203.0.113.10', default: 'deny' },
  message:
    'The change was accepted. Packets to 203.0.113.10 that no rule allows are dropped. Answers to connections that the protected host opens, ICMP that networks need and management ports pass as before. Until a change is live takes 120 ms here, at most 340 ms for 95 of 100 (measured on the last 100 changes).',
};

export const ACCEPTED = {
  data: {
    ip: '203.0.113.10',
    default: 'accept',
    rules: [
      {
        id: 1042,
        action: 'allow',
        protocol: 'tcp',
        source_ip: null,
        destination_ip: '203.0.113.10',
        destination_port: 443,
        managed_by_group: null,
        named_port: null,
        ref: 'web',
        expires_at: null,
        status: 'pending',
      },
    ],
    filters: [],
  },
  meta: {
    rules_count: 1,
    filters_count: 0,
    limits: { rules_per_ip: 100, filters_per_ip: 25, max_ports_per_request: 101 },
    accepted_generation: 1208,
    live_generation: 1207,
    enforcement: 'full',
    edges: [{ name: 'fra1', generation: 1207, in_service: true, refused: null }],
    also_drops: {
      blocked_sources: [{ target: null, count: 1, sources: ['192.0.2.7'] }],
      geo_rules: [{ id: 2, action: 'deny', countries: ['XX'], asns: [64_500] }],
      baseline_rules: [],
    },
    propagation: {
      measured: { samples: 100, median_ms: 120, p95_ms: 340 },
      text: 'Until a change is live takes 120 ms here, at most 340 ms for 95 of 100 (measured on the last 100 changes).',
    },
  },
};

export const REPLACEMENT = {
  rules: [
    { action: 'allow', protocol: 'tcp', destination_port: '80,443' },
    { action: 'allow', protocol: 'udp', destination_port: 'Survival:query' },
    { action: 'deny', protocol: 'any', ref: 'everything-else' },
  ],
  filters: [{ type: 'tcp-syn-proxy', port: '80,443' }],
};

const change = {
  text: 'deny any (everything-else)',
  filter: null,
  rule: {
    action: 'deny',
    protocol: 'any',
    destination_port: null,
    source_ip: null,
    ref: 'everything-else',
    expires_at: null,
  },
};

export const REPLACED = {
  data: {
    created: { rules: [1044], filters: ['tcp-syn-proxy:80', 'tcp-syn-proxy:443'] },
    deleted: { rules: [], filters: [] },
    unchanged: 2,
    difference: {
      created: 3,
      deleted: 0,
      changed: 0,
      unchanged: 2,
      changes: [
        { operation: 'add', effect: 'closes', ...change },
        {
          operation: 'add',
          effect: 'filters',
          text: 'tcp-syn-proxy 80,443: connections through it open again',
          rule: null,
          filter: { type: 'tcp-syn-proxy', port: '80,443' },
        },
      ],
      notes: [],
    },
  },
  message:
    'The change was accepted: 3 objects created, 0 deleted. Until a change is live takes 120 ms here, at most 340 ms for 95 of 100 (measured on the last 100 changes).',
};

export const RULE_BATCH = {
  rules: [
    { action: 'allow', protocol: 'tcp', destination_port: '80,443', note: 'web' },
    { action: 'deny', protocol: 'any', source_ip: '198.51.100.0/24', tags: ['abuse'] },
  ],
};

export const RULES_ADDED = {
  data: {
    created: { rules: [1045], filters: [] },
    deleted: { rules: [], filters: [] },
    unchanged: 2,
    difference: {
      created: 1,
      deleted: 0,
      changed: 0,
      unchanged: 2,
      changes: [{ operation: 'add', effect: 'closes', ...change }],
      notes: [],
    },
  },
  message:
    'The change was accepted: 1 object created, 0 deleted. Until a change is live takes 120 ms here, at most 340 ms for 95 of 100 (measured on the last 100 changes).',
};

export const PACKETS = {
  udp: { protocol: 'udp', source_ip: '198.51.100.7', destination_port: 27_015 },
  ping: { protocol: 'icmp', source_ip: '198.51.100.7', icmp_type: 8, view: 'live' },
  sctp: { protocol: 132, source_ip: '198.51.100.7' },
};

const DECISION = {
  verdict: 'drop',
  stage: 'rules',
  decided_by: {
    kind: 'group_rule',
    id: 12,
    managed_by_group: { id: 3, name: 'baseline' },
    named_port: null,
  },
  explanation: 'The packet is dropped: group rule 12 (deny udp 19) decides.',
};

export const EXPLANATION = {
  data: {
    ...DECISION,
    open_to: null,
    edges: [
      {
        name: 'ams1',
        in_service: true,
        answer: {
          ...DECISION,
          mode: 'enforce',
          generation: 1208,
          up_to_date: true,
          kernel: 'undisturbed',
        },
      },
      { name: 'fra1', in_service: false, answer: null },
    ],
    differences: ['fra1 did not answer: it may be away, or connected to another control plane.'],
    dropped: [
      { stage: 'filters', reason: 'no-greeting', by: 'xdp', packets: 48_211, bytes: 2_411_208 },
    ],
  },
};

export const DROPS = {
  data: {
    ip: '203.0.113.10',
    observed: { packets: 4_711, bytes: 282_660 },
    filters: { greeted: 912, validated: 48 },
    totals: [
      { stage: 'policy', reason: 'denied', by: 'xdp', packets: 1_204_882, bytes: 77_112_448 },
      { stage: 'filters', reason: 'unvalidated', by: 'nftables', packets: 310, bytes: 20_460 },
    ],
    prefixes: [
      {
        prefix: '203.0.113.0/24',
        stage: 'policy',
        reason: 'baseline',
        by: 'xdp',
        packets: 902,
        bytes: 54_120,
      },
    ],
    series: [{ at: '2026-11-21T02:00:00+00:00', packets: 1_205_192, bytes: 77_132_908 }],
    samples: [
      {
        at: '2026-11-21T02:00:41+00:00',
        edge: 'fra1',
        stage: 'policy',
        reason: 'denied',
        by: 'xdp',
        source_ip: '198.51.100.7',
        source_port: 53,
        destination_port: 27_015,
        protocol: 17,
        length: 64,
        device: 'eth0',
      },
    ],
  },
  meta: {
    from: '2026-11-20T02:01:00+00:00',
    to: '2026-11-21T02:01:00+00:00',
    from_clamped: false,
    packets: 1_205_192,
    bytes: 77_132_908,
    edges: ['fra1'],
  },
};

export const DEFAULT_PREVIEW = {
  data: {
    ip: '203.0.113.10',
    default: 'accept',
    ports: [
      {
        protocol: 17,
        port: 27_015,
        dropped: { samples: 812, sources: 41 },
        passed: { samples: 0, sources: 0 },
        last_seen_at: '2026-11-21T02:00:41+00:00',
      },
      {
        protocol: 6,
        port: 443,
        dropped: { samples: 0, sources: 0 },
        passed: { samples: 230, sources: 17 },
        last_seen_at: '2026-11-21T02:00:26+00:00',
      },
    ],
  },
  message:
    'Of 1042 sampled packets of the last day a default of deny would drop 812: udp 27015 (812 samples from 41 sources). These are samples, not all packets: those of connections without an answer yet and one of 64 others.',
  meta: {
    from: '2026-11-20T02:01:00+00:00',
    to: '2026-11-21T02:01:00+00:00',
    sampled_one_in: 64,
    samples: 1_042,
    denied_already: 0,
    edges: ['fra1'],
    is_complete: true,
  },
};

export const FILTER_SETTINGS = {
  keys: ['source:27015'],
  settings: { new_per_second: 50, source_ports: '1024-65535' },
};

export const FILTER_SETTINGS_SET = {
  data: {
    created: { rules: [], filters: ['source:27015'] },
    deleted: { rules: [], filters: ['source:27015'] },
    unchanged: 4,
    difference: {
      created: 0,
      deleted: 0,
      changed: 1,
      unchanged: 4,
      changes: [
        {
          operation: 'change',
          effect: 'filters',
          text: 'source 27015: settings',
          rule: null,
          filter: { type: 'source', port: '27015' },
        },
      ],
      notes: [],
    },
  },
  message:
    'The settings of 1 filter were accepted. Until a change is live takes 120 ms here, at most 340 ms for 95 of 100 (measured on the last 100 changes).',
};
