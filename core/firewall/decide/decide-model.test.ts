import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FILTERS } from '../../filters/catalogue.ts';
import type { FilterSettings } from '../../filters/settings.ts';
import type { Filter, Opening, Signature } from '../../filters/filter.ts';
import { parseCidr } from '../../net/cidr.ts';
import { decide } from './decide.ts';
import type { Packet, PacketState } from '../packet.ts';
import type { Policy, PolicyRule } from '../policy.ts';
import { createPolicyTable } from '../policy-table.ts';
import { STAGES } from '../stages.ts';
import { type Situation, situation } from '../testing/edge-views.ts';

/**
 * An independent model of the specification that shares only the parser with `decide`: networks are prefixes of bit
 * strings, and the first matching stage of one list decides.
 */
type Sentence = readonly [stage: string, action: 'pass' | 'drop' | 'filter', holds: boolean];

const NUMBERS: Readonly<Record<string, readonly number[]>> = {
  tcp: [6, 6],
  udp: [17, 17],
  icmp: [1, 58],
  gre: [47, 47],
  esp: [50, 50],
};

function bits(network: string): string {
  const cidr = parseCidr(network);
  assert.ok(cidr.ok);
  const { family, value, length } = cidr.value;
  const all = value.toString(2).padStart(family === 4 ? 32 : 128, '0');
  return `${family}:${all.slice(0, length)}`;
}

const inside = (network: string, address: string): boolean =>
  bits(address).startsWith(bits(network));

function matches(packet: Packet, rule: Pick<PolicyRule, 'protocol' | 'port' | 'source'>): boolean {
  const number = NUMBERS[rule.protocol]?.[packet.family === 4 ? 0 : 1];
  return (
    (rule.protocol === 'any' || number === packet.protocol) &&
    (rule.port === null || rule.port === packet.destinationPort) &&
    (rule.source === null || inside(rule.source, packet.source))
  );
}

function needed({ family, protocol, icmp, hopLimit }: Packet): boolean {
  if (icmp === null) return false;
  const { type, code } = icmp;
  if (family === 4) return protocol === 1 && (type === 11 || (type === 3 && code === 4));
  return (
    protocol === 58 && (type === 2 || type === 3 || (type > 132 && type < 138 && hopLimit === 255))
  );
}

function policyFor(policies: readonly Policy[], destination: string): Policy | undefined {
  return policies
    .filter((policy) => inside(policy.target, destination))
    .toSorted((a, b) => bits(b.target).length - bits(a.target).length)[0];
}

function sentences(drawn: Situation, policy: Policy): Sentence[] {
  const { settings, packet, state, sourceSets } = drawn;
  const some = (rules: readonly PolicyRule[], action: string, named?: boolean): boolean =>
    rules.some(
      (rule) =>
        rule.action === action &&
        (named === undefined || (rule.source !== null) === named) &&
        matches(packet, rule),
    );
  const listed = (sets: readonly string[]): boolean =>
    sets.flatMap((name) => sourceSets.sets[name] ?? []).some((net) => inside(net, packet.source));
  const geo = (action: string) => policy.geo.filter((rule) => rule.action === action);
  return [
    ['fragment-limits', 'drop', overLimit(packet, state)],
    ['needed-icmp', 'pass', needed(packet) && state.icmpWithinRate],
    ['return-traffic', 'pass', state.returnTraffic && settings.sees === 'both'],
    ['mitigations', 'drop', matchingMitigations(policy, packet, 'enforce', drawn).length > 0],
    ['baseline', 'filter', some(policy.baseline, 'allow')],
    ['baseline', 'drop', some(policy.baseline, 'deny')],
    ['blocked-sources', 'drop', listed(policy.blocked)],
    ['named-allows', 'filter', some(policy.rules, 'allow', true)],
    ['geo', 'drop', geo('deny').some((rule) => listed(rule.sets))],
    ['geo', 'drop', geo('only').some((rule) => !listed(rule.sets))],
    ['rules', 'filter', some(policy.rules, 'allow', false)],
    ['rules', 'drop', some(policy.rules, 'deny')],
    ['default', 'drop', policy.default === 'deny'],
    ['default', 'filter', true],
  ];
}

/** Decided before reassembly, so before every final pass. */
function overLimit(packet: Packet, state: PacketState): boolean {
  return packet.fragment !== 'none' && !state.fragmentsWithinLimit;
}

function matchingMitigations(
  policy: Policy,
  packet: Packet,
  mode: string,
  { settings, state }: Pick<Situation, 'settings' | 'state'>,
): string[] {
  const isUnanswered = settings.sees === 'both' && !state.answered;
  const isAbove = ({ ref, limit }: Policy['mitigations'][number]): boolean => {
    if (limit === null) return true;
    const exceeds = state.aboveLimit.includes(ref);
    if (!limit.unansweredOnly || isUnanswered)
      return limit.pps === 0 || (exceeds && !(limit.unansweredOnly && isProxied));
    return limit.answeredPps !== undefined && exceeds;
  };
  // Its SYN proxy decides about what is unanswered, so rates of that do not.
  const isProxied =
    NUMBERS['tcp']?.[0] === packet.protocol &&
    policy.filters.some(
      ({ type, port }) =>
        port === packet.destinationPort &&
        FILTERS.some((filter: Filter) => filter.type === type && filter.tcp?.synProxy === true),
    );
  return policy.mitigations
    .filter(
      (one) =>
        one.mode === mode &&
        matches(packet, { ...one, port: one.destinationPort }) &&
        (one.sourcePort === null || one.sourcePort === packet.sourcePort) &&
        !one.safelist.some((network) => inside(network, packet.source)) &&
        (one.fragment === 'any' || packet.fragment === 'later') &&
        isAbove(one),
    )
    .map((one) => one.ref);
}

function expected(drawn: Situation): string {
  const { settings, packet, state, policies } = drawn;
  const local = settings.localAddresses.includes(packet.destination);
  const managed = settings.management.some((port) => matches(packet, { ...port, source: null }));
  const policy = policyFor(policies, packet.destination);
  const limited = policy !== undefined && overLimit(packet, state);
  if (local && managed && !limited) return 'pass management';
  if (policy === undefined) {
    if (needed(packet) && state.icmpWithinRate) return 'pass needed-icmp';
    return state.returnTraffic && settings.sees === 'both' ? 'pass return-traffic' : 'pass default';
  }
  const decided = sentences(drawn, policy).find(([, , holds]) => holds);
  assert.ok(decided !== undefined);
  const [stage, action] = decided;
  if (action !== 'filter') return `${action} ${stage}`;
  return isFiltered(drawn, policy) ? 'drop filters' : `pass ${stage}`;
}

function isFiltered({ settings, packet, state }: Situation, policy: Policy): boolean {
  const { filtered } = state;
  if (filtered === null || packet.fragment === 'later') return false;
  const { payload, validated, established, opened, above } = filtered;
  const catalogue: readonly Filter[] = FILTERS;
  const isUdp = NUMBERS['udp']?.[0] === packet.protocol;
  const isTcp = NUMBERS['tcp']?.[0] === packet.protocol;
  const applying = policy.filters
    .filter(
      ({ port, safelist }) =>
        port === packet.destinationPort &&
        !safelist.some((network) => inside(network, packet.source)),
    )
    .flatMap(({ type, settings = {} }) => {
      const filter = catalogue.find((one) => one.type === type);
      return filter?.[isUdp ? 'udp' : 'tcp'] ? [{ filter, settings }] : [];
    });
  const applied = applying.map(({ filter }) => filter);
  const udp = isUdp ? applied.flatMap((filter) => filter.udp ?? []) : [];
  const tcp = isTcp ? applied.flatMap((filter) => filter.tcp ?? []) : [];
  if (udp.length + tcp.length === 0) return false;
  if (applying.some((one) => isOutside(one.settings, isUdp, packet.sourcePort, payload)))
    return true;
  const isFast = above.includes('validated-rate');
  if (settings.sees === 'inbound') return isFast;

  const hasSome = (list: readonly (Opening & Partial<Signature>)[]): boolean =>
    list.some((one) => isFit(one, payload));
  if (isTcp) {
    const openings = tcp.flatMap((filter) => filter.openings);
    const mustOpen = openings.length > 0 && !opened && payload.length > 0;
    if (!established) return tcp.some(({ synProxy }) => synProxy);
    return isFast || (mustOpen && !hasSome(openings));
  }
  const greetings = udp.flatMap((filter) => filter.greetings);
  const isGreeting = greetings.length === 0 || hasSome(greetings);
  if (validated && udp.some(({ replies }) => replies !== null)) {
    const data = udp.flatMap((filter) => filter.data);
    const sendsAnything = udp.some((one) => one.greetings.length > 0 && one.data.length === 0);
    if (isFast) return true;
    if (data.length > 0 && !sendsAnything) {
      if (hasSome(data)) return false;
      if (!isGreeting) return true;
    } else if (greetings.length === 0 || !isGreeting) return false;
  }
  const roaming = udp.flatMap((filter) => filter.roaming?.kinds ?? []);
  const passes = isGreeting || hasSome(roaming.flatMap(({ packets }) => packets));
  return !passes || above.includes('unvalidated-rate') || above.includes('budget');
}

/** Every port written out. */
function isOutside(
  { minLength = 0, maxLength = Infinity, sourcePorts }: FilterSettings,
  isUdp: boolean,
  sourcePort: number | null,
  { length }: Uint8Array,
): boolean {
  if (isUdp && (length < minLength || length > maxLength)) return true;
  if (sourcePorts === undefined || sourcePort === null) return false;
  const ports = sourcePorts.split(',').flatMap((range) => {
    const [low = 0, high = low] = range.split('-').map(Number);
    return Array.from({ length: high - low + 1 }, (_, index) => low + index);
  });
  return !ports.includes(sourcePort);
}

/** Compared as text and whole numbers. */
function isFit(
  { bytes, minLength = 0, maxLength = Infinity }: Opening & Partial<Signature>,
  payload: Uint8Array,
): boolean {
  const text = Buffer.from(payload).toString('hex');
  const sized = payload.length >= minLength && payload.length <= maxLength;
  return (
    sized &&
    bytes.every(({ offset, hex, mask = 'f'.repeat(hex.length) }) => {
      const there = text.slice(2 * offset, 2 * offset + hex.length);
      return (
        there.length === hex.length &&
        (BigInt(`0x${there}`) & BigInt(`0x${mask}`)) === BigInt(`0x${hex}`)
      );
    })
  );
}

test('agrees with the independent model in all stages, and random packets reach each of them', () => {
  const reached = new Set<string>();
  fc.assert(
    fc.property(situation(), (drawn) => {
      const { settings, sourceSets, policies, packet, state } = drawn;
      const view = { settings, sourceSets, policies: createPolicyTable(policies) };
      const verdict = decide(view, packet, state);
      assert.equal(`${verdict.action} ${verdict.stage}`, expected(drawn));
      reached.add(verdict.stage);
    }),
    { numRuns: 2000 },
  );
  assert.deepEqual(
    STAGES.filter(({ name }) => !reached.has(name)),
    [],
  );
});

test('names a rule of the evaluated policy that matches and has the same action as the verdict', () => {
  let checked = 0;
  fc.assert(
    fc.property(situation(), ({ settings, sourceSets, policies, packet, state }) => {
      const view = { settings, sourceSets, policies: createPolicyTable(policies) };
      const { action, stage, ref } = decide(view, packet, state);
      if (stage !== 'baseline' && stage !== 'named-allows' && stage !== 'rules') return;
      checked += 1;
      const policy = policyFor(policies, packet.destination);
      const rules = stage === 'baseline' ? policy?.baseline : policy?.rules;
      const named = rules?.filter((rule) => rule.ref === ref) ?? [];
      const says = action === 'pass' ? 'allow' : 'deny';
      assert.ok(named.some((rule) => rule.action === says && matches(packet, rule)));
    }),
    { numRuns: 1000 },
  );
  assert.ok(checked > 100, `only ${checked} verdicts named a rule`);
});

test('changes no verdict in observe mode, and marks exactly the packets that enforcing would drop', () => {
  fc.assert(
    fc.property(situation(), (drawn) => {
      const { settings, sourceSets, packet, state } = drawn;
      const evaluate = (policies: readonly Policy[]) =>
        decide({ settings, sourceSets, policies: createPolicyTable(policies) }, packet, state);
      const observing = drawn.policies.map((policy) => ({
        ...policy,
        mitigations: policy.mitigations.map((one) => ({ ...one, mode: 'observe' as const })),
      }));
      const without = drawn.policies.map((policy) => ({ ...policy, mitigations: [] }));
      const { observed, ...verdict } = evaluate(observing);
      const { observed: none, ...bare } = evaluate(without);
      assert.deepEqual(verdict, bare);
      assert.deepEqual(none, []);
      const policy = policyFor(observing, packet.destination);
      const early = ['management', 'needed-icmp', 'fragment-limits', 'return-traffic'];
      const marks = early.includes(verdict.stage) || policy === undefined;
      assert.deepEqual(
        observed,
        marks ? [] : matchingMitigations(policy, packet, 'observe', drawn),
      );
    }),
    { numRuns: 1000 },
  );
});
