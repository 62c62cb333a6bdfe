import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import type { Policy, PolicyRule, RuleProtocol } from '@portcullis/core/firewall/policy.ts';
import { type Family, formatAddress } from '@portcullis/core/net/address.ts';
import type { Flow } from '@portcullis/dataplane/xdp/flows/mark-keys.ts';
import type { Plan } from '../generator/plan.ts';

/** Policies as a fleet has them, the same at every run: many addresses of the same kind, no two the same. */
export interface Fleet {
  readonly family: Family;
  readonly addresses: number;
  /** To each address, the last one included. */
  readonly rules: number;
  /** Deny everything else, or let it pass. */
  readonly end: 'deny' | 'accept';
  /** Each address denies a country besides, and the flood comes from there. IPv4 only. */
  readonly geo?: true;
  /** So many ports are open to anybody, and nothing else is allowed. */
  readonly openPorts?: number;
}

const COUNTRY = 'country:ZZ';

/** A large country: 65,536 networks, no two of which are one. */
export function sourceSetsOf({ geo }: Fleet): Readonly<Record<string, readonly string[]>> {
  if (geo !== true) return {};
  const networks = Array.from(
    { length: 65_536 },
    (_, index) => `11.${index >> 8}.${index & 255}.0/25`,
  );
  return { [COUNTRY]: networks };
}

/** The port that addresses that deny everything else let in from anywhere. No other rule names this port. */
export const OPEN_PORT = 27_015;
/** The port that addresses that let everything else pass deny to everybody. */
export const CLOSED_PORT = 19;
/** Where packets come from that no rule names. */
const STRANGERS: Readonly<Record<Family, string>> = { 4: '11.0.0.0', 6: '2001:db8:bad::' };
const FIRST: Readonly<Record<Family, bigint>> = {
  4: 0x0a_00_00_00n,
  6: 0x2001_0db8_0005_0000_0000_0000_0000_0000n,
};
const UNUSED_PORTS = [1024, 60_000] as const;

export function addressOf(family: Family, index: number): string {
  return formatAddress({ family, value: FIRST[family] + BigInt(index) });
}

export function policiesOf(fleet: Fleet): Policy[] {
  return Array.from({ length: fleet.addresses }, (_, index) => policyOf(fleet, index));
}

export function policyOf(fleet: Fleet, index: number): Policy {
  const { family, rules, end, geo, openPorts = 0 } = fleet;
  const draw = drawer(index + 1);
  if (openPorts > 0) {
    const open = Array.from({ length: openPorts }, (_, at) =>
      rule('allow', at % 2 === 0 ? 'udp' : 'tcp', at === 0 ? OPEN_PORT : port(draw)),
    );
    return {
      target: addressOf(family, index),
      ...EMPTY_POLICY,
      rules: [...open, rule('deny', 'any')],
    };
  }
  const mixed = Array.from({ length: rules - (end === 'deny' ? 2 : 1) }, (_, at) => {
    const make = KINDS[at % KINDS.length] as Kind;
    return make(draw, family);
  });
  const first = end === 'deny' ? rule('allow', 'udp', OPEN_PORT) : rule('deny', 'udp', CLOSED_PORT);
  const last = end === 'deny' ? [rule('deny', 'any')] : [];
  return {
    target: addressOf(family, index),
    ...EMPTY_POLICY,
    geo: geo === true ? [{ ref: 'geo-rule:1', action: 'deny', sets: [COUNTRY] }] : [],
    rules: [first, ...mixed, ...last],
  };
}

/** Spoofed sources, all ports, half TCP and half UDP, to all addresses. */
export function floodOf({ family, addresses, geo }: Fleet): Omit<Plan, 'to' | 'from'> {
  return {
    family,
    destination: addressOf(family, 0),
    destinations: addresses,
    source: STRANGERS[family],
    // Of the country's networks only the first half of each /24 is there.
    sourceRandom: geo === true ? 0x00ff_ff7f : 0x00ff_ffff,
    sourcePorts: [1024, 65_535],
    ports: [1, 65_535],
    tcpShare: 0.5,
  };
}

/**
 * Packets that addresses that deny everything else let in, from four clients of each: connection tracking has room
 * for them.
 */
export function passingOf(fleet: Fleet): Omit<Plan, 'to' | 'from'> {
  return {
    ...floodOf(fleet),
    sourceRandom: 3,
    sourcePorts: [40_000, 40_000],
    ports: [OPEN_PORT, OPEN_PORT],
    tcpShare: 0,
  };
}

/** Opened by the addresses of an IPv4 fleet, each as often as any other, to anywhere. */
export function flowsOf({ addresses }: Fleet, count: number): Flow[] {
  const draw = drawer(count);
  return Array.from({ length: count }, (_, index): Flow => {
    const [local, remote] = [Buffer.alloc(4), Buffer.alloc(4)];
    local.writeUInt32BE(Number(FIRST[4]) + (index % addresses), 0);
    remote.writeUInt32BE(draw(2 ** 32), 0);
    const [localPort, remotePort] = [draw(65_536), draw(65_536)];
    return { family: 4, protocol: 17, local, remote, localPort, remotePort };
  });
}

type Draw = (below: number) => number;
type Kind = (draw: Draw, family: Family) => PolicyRule;

/** Ports all over the range, single hosts and networks, each protocol: what rules of game servers name. */
const KINDS: readonly Kind[] = [
  (draw) => rule('allow', 'tcp', port(draw)),
  (draw) => rule('allow', 'udp', port(draw)),
  (draw, family) => rule('allow', 'tcp', 22, network(draw, family)),
  (draw) => rule('deny', 'udp', port(draw)),
  (draw, family) => rule('allow', 'udp', port(draw), host(draw, family)),
  (draw, family) => rule('deny', 'any', null, network(draw, family)),
  () => rule('allow', 'icmp'),
  (draw, family) => rule('allow', 'any', null, host(draw, family)),
  (draw) => rule('deny', 'tcp', port(draw)),
  (draw, family) => rule('allow', 'tcp', port(draw), network(draw, family)),
];

function rule(
  action: PolicyRule['action'],
  protocol: RuleProtocol,
  onPort: number | null = null,
  source: string | null = null,
): PolicyRule {
  return { ref: 'rule:1', action, protocol, port: onPort, source };
}

function port(draw: Draw): number {
  const [first, last] = UNUSED_PORTS;
  const drawn = first + draw(last - first);
  return drawn === OPEN_PORT ? drawn + 1 : drawn;
}

function host(draw: Draw, family: Family): string {
  return family === 4
    ? `198.51.${draw(256)}.${draw(256)}`
    : formatAddress({ family, value: (0x2001_0db8_00c0n << 80n) + BigInt(draw(65_536)) });
}

function network(draw: Draw, family: Family): string {
  return family === 4
    ? `203.0.${draw(256)}.0/24`
    : `${formatAddress({ family, value: (0x2001_0db8_00d0n << 80n) + (BigInt(draw(65_536)) << 64n) })}/64`;
}

/** Mulberry32: the same numbers for the same seed. */
function drawer(seed: number): Draw {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
