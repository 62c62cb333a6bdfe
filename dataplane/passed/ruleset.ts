import { SAMPLED_ONE_IN } from '@portcullis/core/firewall/passed.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { piecesOf } from '../counters/nftables/pieces.ts';
import { rangeOf } from '../counters/nftables/ruleset.ts';
import { ADDRESS_TYPE, IP, PASSED_TABLE as TABLE } from '../nftables/names.ts';
import { skipOtherDevices } from '../nftables/table/base-chain.ts';

/** After the policies (-150 at the latest), before Docker's DNAT (-100). */
const AFTER_POLICIES = -140;
/** The most kinds of packets between two readings. A full set takes no new ones. */
const MAX_ELEMENTS = 2048;
/** Beyond it nothing is sampled, so that a flood that passes costs no lookup. */
const MAX_PER_SECOND = 2000;

const FAMILIES = [4, 6] as const;

/** A set of samples, by its name and the fields of its keys. */
export interface SampleSet {
  readonly name: string;
  readonly family: Family;
  readonly hasPorts: boolean;
  /** Types as in the declaration of the set. */
  readonly types: readonly string[];
}

export const SAMPLE_SETS: readonly SampleSet[] = FAMILIES.flatMap((family) => {
  const address = ADDRESS_TYPE[family];
  const types = [address, address, 'inet_proto'];
  return [
    { name: `ports${family}`, family, hasPorts: true, types: [...types, 'inet_service'] },
    { name: `others${family}`, family, hasPorts: false, types },
  ];
});

export const REMOVE_SAMPLES = `add table ${TABLE}\ndelete table ${TABLE}\n`;
export const FLUSH_SAMPLES = SAMPLE_SETS.map(({ name }) => `flush set ${TABLE} ${name}\n`).join('');

export interface Sampling {
  readonly devices: readonly string[];
  /** Only packets to these are sampled. */
  readonly networks: readonly Cidr[];
  readonly sees: 'both' | 'inbound';
}

/** Renders the whole table, replacing an existing one. Without a device or a network it only removes it. */
export function renderSamples({ devices, networks, sees }: Sampling): string {
  if (devices.length === 0 || networks.length === 0) return REMOVE_SAMPLES;
  const rule = `add rule ${TABLE} enter`;
  const lines = [
    `add table ${TABLE}`,
    ...FAMILIES.flatMap((family) => declareFamily(family, networks)),
    `add chain ${TABLE} enter { type filter hook prerouting priority ${AFTER_POLICIES}; policy accept; }`,
    `${rule} ${skipOtherDevices(devices)}`,
    ...(sees === 'both' ? withConntrack() : withoutConntrack()).map((text) => `${rule} ${text}`),
    `${rule} limit rate over ${MAX_PER_SECOND}/second burst ${MAX_PER_SECOND} packets return`,
    ...FAMILIES.map((family) => `${rule} ${IP[family]} daddr @held${family} goto take${family}`),
  ];
  return `${REMOVE_SAMPLES}${lines.join('\n')}\n`;
}

/** Leaves most packets of connections that were answered, and answers to connections of the host itself. */
function withConntrack(): string[] {
  return [
    `ct state != new numgen random mod ${SAMPLED_ONE_IN} != 0 return`,
    'ct direction reply return',
  ];
}

/** An edge that sees one direction must not load conntrack, which would reassemble fragments. */
function withoutConntrack(): string[] {
  return [
    `numgen random mod ${SAMPLED_ONE_IN} != 0 return`,
    'ip frag-off & 0x1fff != 0 return',
    'frag frag-off != 0 return',
  ];
}

function declareFamily(family: Family, networks: readonly Cidr[]): string[] {
  const chain = `add rule ${TABLE} take${family}`;
  const addresses = `${IP[family]} daddr . ${IP[family]} saddr . meta l4proto`;
  const held = piecesOf(networks, family).map(rangeOf);
  const sets = SAMPLE_SETS.filter((set) => set.family === family);
  return [
    `add set ${TABLE} held${family} { type ${ADDRESS_TYPE[family]}; flags interval; }`,
    ...(held.length === 0 ? [] : [`add element ${TABLE} held${family} { ${held.join(', ')} }`]),
    ...sets.map(
      ({ name, types }) =>
        `add set ${TABLE} ${name} { type ${types.join(' . ')}; size ${MAX_ELEMENTS}; flags dynamic; counter; }`,
    ),
    `add chain ${TABLE} take${family}`,
    `${chain} meta l4proto { tcp, udp } update @ports${family} { ${addresses} . th dport }`,
    `${chain} meta l4proto != { tcp, udp } update @others${family} { ${addresses} }`,
  ];
}
