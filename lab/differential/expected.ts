import assert from 'node:assert/strict';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import type { Filter } from '@portcullis/core/filters/filter.ts';
import { decide, type EdgeView, type Verdict } from '@portcullis/core/firewall/decide/decide.ts';
import { PROTOCOL_NUMBERS } from '@portcullis/core/firewall/match.ts';
import type { EdgeSettings, Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { createPolicyTable } from '@portcullis/core/firewall/policy-table.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import type { Numbered } from './frames.ts';
import { goesOn } from './segments.ts';
import { VLANS } from './vlans.ts';
import { JUDGED_DEVICES, LOCAL } from './wire.ts';

/** The state that an edge is given, and the same as the reference evaluator reads it. */
export interface State {
  readonly desired: Desired;
  readonly policies: readonly Policy[];
  readonly edge: EdgeView;
}

/** So high that there is always room. */
export const ROOM = 1_000_000;

/** Limits are out of the way: of strangers a port takes nobody, unless they greet it, and of others everybody. */
export const CATALOGUE: readonly Filter[] = (FILTERS as readonly Filter[]).map((filter) => ({
  ...filter,
  udp: filter.udp && {
    ...filter.udp,
    budgetPps: filter.udp.greetings.length === 0 ? 0 : ROOM,
    rates: { unvalidatedPps: ROOM, validatedPps: ROOM },
    roaming: filter.udp.roaming
      ? { ...filter.udp.roaming, rates: { sourcePps: ROOM, budgetPps: ROOM } }
      : null,
  },
  tcp: filter.tcp && {
    ...filter.tcp,
    validatedPps: ROOM,
    connections: filter.tcp.connections && { perSecond: ROOM, concurrent: ROOM },
  },
}));

const MANAGEMENT = [
  { protocol: 'tcp', port: 22 },
  { protocol: 'udp', port: 23 },
] as const;

export function stateOf(
  policies: readonly Policy[],
  sourceSets: SourceSets,
  generation: number,
  change: Partial<Pick<EdgeSettings, 'sees' | 'fragments'>> = {},
): State {
  const settings = {
    management: MANAGEMENT,
    sees: 'both',
    fragments: 'reassemble',
    ...change,
  } as const;
  const devices = [...JUDGED_DEVICES, 'not-there'];
  const desired: Desired = {
    generation: generation + 1,
    policies: new Map(policies.map((policy) => [policy.target, policy])),
    sourceSets,
    settings: { ...settings, name: 'fra1', site: 'fra', devices },
  };
  const edge: EdgeView = {
    catalogue: CATALOGUE,
    settings: { ...settings, localAddresses: Object.values(LOCAL) },
    policies: createPolicyTable(policies),
    sourceSets,
  };
  return { desired, policies, edge };
}

/** The state that the kernel knows beside the policies. */
export interface Known {
  /** Connection tracking has it as a reply. */
  readonly returns: (packet: Packet) => boolean;
  /** The filters of its port take its source for validated. */
  readonly validated: (packet: Packet) => boolean;
  /** Connection tracking has an established connection of its addresses and ports, that its source opened. */
  readonly established: (numbered: Numbered) => boolean;
  /** That connection began as its filter asks, by its mark. */
  readonly opened: (numbered: Numbered) => boolean;
}

export const NOTHING_KNOWN: Known = {
  returns: () => false,
  validated: () => false,
  established: () => false,
  opened: () => false,
};

/**
 * The reference evaluator's verdict where the rules are judged; what enters by a device that is not named is not.
 * A SYN proxy drops nothing here: it judges where it answers, behind this hook and behind any host's own DNAT.
 */
export function expectedOf(state: State, one: Numbered, known: Known = NOTHING_KNOWN): Verdict {
  return verdictOf(state, one, known, belongs(one, known) ? 'known' : 'unread');
}

/**
 * The same of what gets to the server. To a SYN proxy its source is known by nothing but the connection that it
 * belongs to: what opens one is answered in the server's place, and what claims one that is not there is dropped.
 */
export function deliveredOf(state: State, one: Numbered, known: Known = NOTHING_KNOWN): Verdict {
  return verdictOf(state, one, known, belongs(one, known) ? 'known' : 'none');
}

/** The rules let it in, and a SYN proxy keeps it from the server. */
export function isProxied(state: State, one: Numbered, known: Known = NOTHING_KNOWN): boolean {
  return (
    expectedOf(state, one, known).action === 'pass' &&
    deliveredOf(state, one, known).action === 'drop'
  );
}

/** To a connection that connection tracking knows, and takes it for a part of. */
export function belongs(one: Numbered, known: Known): boolean {
  // What is not put together is no part of a connection to it.
  if (one.packet.fragment !== 'none') return false;
  const isDatagram = one.packet.protocol === PROTOCOL_NUMBERS.udp;
  return known.established(one) && (isDatagram || goesOn(one.form.flags));
}

function verdictOf(
  { edge }: State,
  one: Numbered,
  known: Known,
  connection: 'known' | 'none' | 'unread',
): Verdict {
  const { packet, form, payload } = one;
  if (form.vlan === VLANS.untouched) {
    return { action: 'pass', stage: 'default', ref: null, observed: [] };
  }
  return decide(edge, packet, {
    returnTraffic: known.returns(packet),
    icmpWithinRate: true,
    fragmentsWithinLimit: true,
    answered: known.returns(packet) || belongs(one, known),
    aboveLimit: [],
    filtered: {
      payload,
      validated: known.validated(packet),
      established: connection !== 'none',
      opened: connection === 'unread' || known.opened(one),
      above: [],
    },
  });
}

/** Fails with the first of these as an example. */
export function assertNone(
  state: State,
  [first, ...others]: readonly Numbered[],
  what: string,
): void {
  if (first === undefined) return;
  const policy = state.edge.policies.lookup(first.packet.destination);
  const example = { expected: expectedOf(state, first), ...first, policy };
  assert.fail(`${1 + others.length} ${what}, the first ${JSON.stringify(example, null, 1)}`);
}
