import { DATA_BYTES } from '@portcullis/core/attacks/vectors.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { ADDRESS_TYPE, CONNECTIONS_TABLE as TABLE, IP } from '../../nftables/names.ts';

/** After conntrack (-200), before the policies (-150). */
const AFTER_CONNTRACK = -160;
/**
 * One in this number of packets in answered flows is counted, by its source or as an answer: they are the most
 * packets.
 */
export const ANSWERED_ONE_IN = 8;
const MAX_SOURCES = 2048;
const SOURCE_SECONDS = 10;
/** The bit of the conntrack labels of a served connection. Marks are used by routing and by other programs. */
const SERVED_LABEL = 117;

export const FAMILIES = [4, 6] as const;
/** Subjects: their addresses, and the ranges of networks. */
export const KINDS = ['addresses', 'networks'] as const;
/** Counters of each subject. */
export const COUNTED = ['stray_data', 'stray_acks', 'answers', 'served'] as const;
export type CountedKind = (typeof COUNTED)[number];

export const REMOVE_CONNECTIONS = `add table ${TABLE}\ndelete table ${TABLE}\n`;

export function counterSet(
  counted: CountedKind,
  kind: (typeof KINDS)[number],
  family: Family,
): string {
  return `${counted}_${kind}${family}`;
}

/** The set of the sources of answered flows: destination, source and protocol. */
export function sourceSet(family: Family): { readonly name: string; readonly types: string[] } {
  const address = ADDRESS_TYPE[family];
  return { name: `sources${family}`, types: [address, address, 'inet_proto'] };
}

/**
 * Renders the whole table without subjects, replacing an existing one. `hasLabels`: the kernel has conntrack labels;
 * without them served connections are not counted. Packets of all devices count: their vectors are known of the
 * edge's own alone.
 */
export function renderConnections(hasLabels: boolean): string {
  const hook = (name: string) =>
    `{ type filter hook ${name} priority ${AFTER_CONNTRACK}; policy accept; }`;
  const chains: Record<string, readonly string[]> = {
    enter: [
      // Of TCP: the handshake is complete. Of UDP: both sides have sent for seconds.
      'ct status & assured == assured goto answered',
      'tcp flags & (syn|ack) == ack ct state { invalid, new, untracked } goto stray',
    ],
    stray: [`meta length > ${DATA_BYTES} goto stray_data`, ...counting('stray_acks', 'to')],
    stray_data: counting('stray_data', 'to'),
    answered: [
      NOT_SAMPLED,
      ...FAMILIES.flatMap((family) =>
        KINDS.map((kind) => `${FIELDS.to(family)} @${kind}${family} ${noteSource(family)} return`),
      ),
    ],
    leave: ['meta l4proto tcp ct status & assured == assured goto answers'],
    answers: [
      ...(hasLabels ? [serveRule()] : []),
      NOT_SAMPLED,
      'ct direction original goto opened',
      ...counting('answers', 'accepted'),
    ],
    opened: counting('answers', 'opened'),
    served: counting('served', 'accepted'),
  };
  const hooks: Record<string, string> = {
    enter: hook('prerouting'),
    leave: hook('postrouting'),
  };
  const lines = [
    `add table ${TABLE}`,
    ...FAMILIES.flatMap(declareSets),
    ...Object.keys(chains).map((name) => `add chain ${TABLE} ${name} ${hooks[name] ?? ''}`.trim()),
    ...Object.entries(chains).flatMap(([name, rules]) =>
      rules.map((rule) => `add rule ${TABLE} ${name} ${rule}`),
    ),
  ];
  return `${REMOVE_CONNECTIONS}${lines.join('\n')}\n`;
}

const NOT_SAMPLED = `numgen random mod ${ANSWERED_ONE_IN} != 0 return`;

/** `keys`: an address, or the ranges of a network. */
export function renderKeys(verb: 'add' | 'delete', keys: readonly string[]): string {
  return keys
    .flatMap((key) => {
      const family = key.includes(':') ? 6 : 4;
      const kind = key.includes('-') ? 'networks' : 'addresses';
      const sets = COUNTED.map((counted) => counterSet(counted, kind, family));
      return [`${kind}${family}`, ...sets].map(
        (set) => `${verb} element ${TABLE} ${set} { ${key} }`,
      );
    })
    .join('\n');
}

/** The address of the subject: in a packet to it, in connections to it and in its own, whatever NAT does to packets. */
const FIELDS = {
  to: (family: Family) => `${IP[family]} daddr`,
  accepted: (family: Family) => `ct original ${IP[family]} daddr`,
  opened: (family: Family) => `ct reply ${IP[family]} daddr`,
} as const;

/** A lookup in a set with counters counts. An address counts for itself and for its network. */
function counting(counted: CountedKind, field: keyof typeof FIELDS): string[] {
  return FAMILIES.flatMap((family) =>
    KINDS.map((kind) => `${FIELDS[field](family)} @${counterSet(counted, kind, family)}`),
  );
}

function noteSource(family: Family): string {
  const ip = IP[family];
  return `update @${sourceSet(family).name} { ${ip} daddr . ${ip} saddr . meta l4proto }`;
}

/**
 * Counts a connection that the subject accepted once, with its first payload. If the label does not stick, as on
 * connections from before this table, it never counts.
 */
function serveRule(): string {
  const isPayload = 'tcp flags & psh == psh ct direction reply';
  const label = `ct label & ${SERVED_LABEL}`;
  return `${isPayload} ${label} == 0 ct label set ${SERVED_LABEL} ${label} != 0 jump served`;
}

function declareSets(family: Family): string[] {
  const type = ADDRESS_TYPE[family];
  const flags = { addresses: '', networks: ' flags interval;' };
  const { name, types } = sourceSet(family);
  const bounds = `size ${MAX_SOURCES}; flags dynamic,timeout; timeout ${SOURCE_SECONDS}s;`;
  return [
    ...KINDS.flatMap((kind) => [
      `add set ${TABLE} ${kind}${family} { type ${type};${flags[kind]} }`,
      ...COUNTED.map(
        (counted) =>
          `add set ${TABLE} ${counterSet(counted, kind, family)} { type ${type};${flags[kind]} counter; }`,
      ),
    ]),
    `add set ${TABLE} ${name} { type ${types.join(' . ')}; ${bounds} counter; }`,
  ];
}
