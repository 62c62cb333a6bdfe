import { sql } from 'kysely';
import { BITS, type Family, formatAddress } from '@portcullis/core/net/address.ts';
import {
  type Cidr,
  formatCidr,
  formatNetwork,
  lastValue,
  overlaps,
} from '@portcullis/core/net/cidr.ts';
import { mergeCidrs, rangeToCidrs } from '@portcullis/core/net/cidr-sets.ts';
import type { Tx } from '../../db/database.ts';
import { PolicyAssembly, storedCidr } from './assembly.ts';
import { isEmptyPolicy } from '@portcullis/core/firewall/build-policy.ts';
import type { DefaultAction, Policy } from '@portcullis/core/firewall/policy.ts';
import { lostFleet } from '../generations.ts';
import { loadFormerTargets, loadPolicyRows, type OwnRow, type PolicyRows } from './rows.ts';
import { PrefixIndex } from '@portcullis/core/net/prefix-index.ts';

export { inSnapshot } from '../../db/snapshot.ts';

/** A range of addresses whose policies are loaded together. */
interface Slice {
  /** The range, or the requested part of it. */
  readonly cidrs: readonly Cidr[];
  /** The targets that begin in it: each belongs to one slice, also a prefix that reaches into others. */
  readonly begins: (target: Cidr) => boolean;
}

/** Loaded together without looking at how many objects they have. */
const ADDRESSES_PER_SLICE = 200;

/** Slices of a list of addresses, which need no look at the database. */
function addressSlices(addresses: readonly Cidr[]): Slice[] {
  const slices: Slice[] = [];
  for (let first = 0; first < addresses.length; first += ADDRESSES_PER_SLICE) {
    const cidrs = addresses.slice(first, first + ADDRESSES_PER_SLICE);
    const values = new Set(cidrs.map(keyOf));
    slices.push({ cidrs, begins: (target) => isAddress(target) && values.has(keyOf(target)) });
  }
  return slices;
}

/** Cuts merged networks so that each slice has about `weight` rules and other objects. One address may have more. */
async function loadSlices(tx: Tx, parts: readonly Cidr[], weight: number): Promise<Slice[]> {
  const slices: Slice[] = [];
  for (const family of [4, 6] as const) {
    const within = parts.filter((part) => part.family === family);
    const [first, last] = [within[0], within.at(-1)];
    if (first === undefined || last === undefined) continue;
    const span = { family, first: first.value, last: lastValue(last) };
    const begins = await loadBegins(tx, span, weight);
    for (const [at, begin] of begins.entries()) {
      const range = {
        family,
        first: at === 0 ? span.first : begin,
        last: (begins[at + 1] ?? span.last + 1n) - 1n,
      };
      const cidrs = cut(within, range);
      if (cidrs.length > 0) slices.push({ cidrs, begins: (target) => isIn(range, target) });
    }
  }
  return slices;
}

interface Range {
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
}

const ALL: Readonly<Record<Family, Cidr>> = {
  4: { family: 4, value: 0n, length: 0 },
  6: { family: 6, value: 0n, length: 0 },
};

/** The first addresses of the slices. Every target begins at an address that is counted here. */
async function loadBegins(
  tx: Tx,
  { family, first, last }: Range,
  weight: number,
): Promise<bigint[]> {
  const [low = '', high = ''] = [first, last].map((value) => formatAddress({ family, value }));
  const begin = sql`set_masklen(t.prefix::inet, case family(t.prefix) when 4 then 32 else 128 end)`;
  const { rows } = await sql<{ begin: string }>`
    with keys as (
      select a.ip as begin, 1 + (select count(*) from rules r
                                  where r.address_id = a.id and r.deleted_generation is null) as weight
        from addresses a where a.ip >= ${low}::inet and a.ip <= ${high}::inet
      union all
      select ${begin}, 1 from (
        select cidr from holdings union all select target from group_assignments
        union all select target from geo_assignments union all select target from default_actions
        union all select target from blocked_sources where target is not null
        union all select target from mitigations union all select prefix from baseline_rules union all select ip::cidr from server_openings
      ) t (prefix)
       where ${begin} >= ${low}::inet and ${begin} <= ${high}::inet
    ), summed as (
      select begin, div(sum(weight) over (order by begin rows unbounded preceding), ${weight}::numeric) as slice
        from keys
    )
    select distinct host(min(begin)) as begin from summed group by slice`.execute(tx);
  const begins = rows
    .map((row) => storedCidr(row.begin).value)
    .toSorted((a, b) => (a < b ? -1 : 1));
  return begins.length === 0 ? [first] : begins;
}

/** The parts of sorted networks that are in the range. */
function cut(networks: readonly Cidr[], range: Range): Cidr[] {
  return networks.flatMap((network) => {
    const first = network.value > range.first ? network.value : range.first;
    const end = lastValue(network);
    const last = end < range.last ? end : range.last;
    return first <= last ? rangeToCidrs(range.family, first, last) : [];
  });
}

function isIn({ family, first, last }: Range, target: Cidr): boolean {
  return target.family === family && target.value >= first && target.value <= last;
}

function keyOf({ family, value }: Cidr): string {
  return `${family} ${value}`;
}

function isAddress({ family, length }: Cidr): boolean {
  return length === BITS[family];
}

/** About as many rules are in memory at once, twice: the next ones are loaded meanwhile. */
const SLICE_WEIGHT = 10_000;
/** Others wait for no longer. */
const BUILD_MS = 5;

export interface LoadedPolicies {
  /** Complete current policies. */
  readonly policies: readonly Policy[];
  /** Requested targets, and former targets inside requested prefixes, that have no policy. */
  readonly removed: readonly string[];
}

/** The generation and time of a snapshot. */
interface SnapshotMoment {
  /** The newest visible generation; every older one is visible too. */
  readonly generation: number;
  /** The time at which holdings are evaluated, as PostgreSQL writes it. */
  readonly asOf: string;
}

/**
 * Reads the generation and time of this snapshot.
 *
 * Not `now()`: a transaction may start before a holding ends and see the generation that ends it. Its policies would
 * then have that generation's number and the old holder's rules, and no edge would fetch them again.
 */
export async function readMoment(tx: Tx): Promise<SnapshotMoment> {
  const { rows } = await sql<SnapshotMoment>`
    select generation, greatest(clock_timestamp(), holdings_until)::text as "asOf" from fleet
  `.execute(tx);
  const moment = rows[0];
  if (moment === undefined) throw lostFleet();
  return moment;
}

export interface StreamOptions {
  readonly sliceWeight?: number | undefined;
  /** With 'all': only the policies that apply in one of these networks. */
  readonly networks?: readonly Cidr[] | undefined;
}

/**
 * Loads the accepted policies of these targets, or of the whole fleet, in parts of bounded size. A prefix includes
 * everything inside it that has, or ever had, a policy. Needs a transaction of one snapshot, so that all statements see
 * one state; between parts the event loop turns.
 */
export async function* streamPolicies(
  tx: Tx,
  targets: readonly string[] | 'all',
  { sliceWeight = SLICE_WEIGHT, networks }: StreamOptions = {},
): AsyncGenerator<LoadedPolicies, void> {
  const { asOf } = await readMoment(tx);
  const requested = targets === 'all' ? null : targets.map(storedCidr);
  const parts = mergeCidrs(requested ?? networks ?? Object.values(ALL));
  const slices =
    requested?.every(isAddress) === true
      ? addressSlices(requested)
      : await loadSlices(tx, parts, sliceWeight);
  const load = ({ cidrs }: Slice): Promise<PolicyRows> =>
    loadPolicyRows(tx, { region: cidrs.map(formatNetwork), asOf, generation: null });
  const within = new PrefixIndex<true>();
  for (const part of parts) within.add(part, true);
  // A wider target belongs to the first part in it. Such a target was not requested.
  const placeOf = (target: Cidr): Cidr | undefined =>
    within.covering(target).length > 0
      ? target
      : requested === null
        ? parts.find((part) => overlaps(part, target))
        : undefined;
  let next = slices[0] === undefined ? null : load(slices[0]);
  for (const [at, slice] of slices.entries()) {
    const rows = await next;
    if (rows === null) break;
    const belongs = (target: Cidr): boolean => {
      const place = placeOf(target);
      return place !== undefined && slice.begins(place);
    };
    const gone =
      requested === null ? new Set<string>() : await loadGone(tx, requested, slice, belongs);
    const following = slices[at + 1];
    next = following === undefined ? null : load(following);
    // Awaited in the next round, unless the reader stops before.
    next?.catch(() => {});
    for (const policies of build(new PolicyAssembly(rows), belongs)) {
      for (const { target } of policies) gone.delete(target);
      yield { policies, removed: [] };
      await turn();
    }
    yield { policies: [], removed: [...gone] };
  }
}

/** The same at once, sorted; for few. */
export async function loadPolicies(
  tx: Tx,
  targets: readonly string[] | 'all',
  options: StreamOptions = {},
): Promise<LoadedPolicies> {
  const policies: Policy[] = [];
  const removed: string[] = [];
  for await (const part of streamPolicies(tx, targets, options)) {
    policies.push(...part.policies);
    removed.push(...part.removed);
  }
  return {
    policies: policies.toSorted((a, b) => (a.target < b.target ? -1 : 1)),
    removed: removed.toSorted(),
  };
}

/**
 * Loads the policy of an address for `explain`: accepted, or as of a generation (the live one). Holdings are the
 * current ones in both cases, so that a former holder's rules never apply.
 */
export async function loadAddressPolicy(
  tx: Tx,
  ip: string,
  options: { readonly generation?: number } = {},
): Promise<Policy> {
  const { generation = null } = options;
  return new PolicyAssembly(await loadAddressRows(tx, ip, generation)).policyOf(storedCidr(ip));
}

/** The accepted objects of an address after a change in memory; absent: as they are. */
export interface ChangedAddress {
  readonly holdingId: number;
  readonly own?: Pick<OwnRow, 'rules' | 'filters'>;
  readonly default?: DefaultAction;
}

/** The accepted policy of an address, and with a change that is stored nowhere. */
export async function loadChangedPolicy(
  tx: Tx,
  ip: string,
  { holdingId, own, default: action }: ChangedAddress,
): Promise<{ readonly before: Policy; readonly after: Policy }> {
  const rows = await loadAddressRows(tx, ip, null);
  const address = storedCidr(ip);
  const target = formatCidr(address);
  const isOther = (row: { readonly target: string; readonly holdingId: number }): boolean =>
    row.target !== target || row.holdingId !== holdingId;
  const changed = {
    ...rows,
    ...(own && { own: [...rows.own.filter(isOther), { target, holdingId, ...own }] }),
    ...(action && { defaults: [...rows.defaults.filter(isOther), { target, holdingId, action }] }),
  };
  const policyOf = (of: PolicyRows): Policy => new PolicyAssembly(of).policyOf(address);
  return { before: policyOf(rows), after: policyOf(changed) };
}

async function loadAddressRows(tx: Tx, ip: string, generation: number | null): Promise<PolicyRows> {
  const { asOf } = await readMoment(tx);
  return loadPolicyRows(tx, { region: [ip], asOf, generation });
}

/** Loads targets that have to be removed, unless a policy of it is found. */
async function loadGone(
  tx: Tx,
  requested: readonly Cidr[],
  slice: Slice,
  belongs: (target: Cidr) => boolean,
): Promise<Set<string>> {
  if (requested.every(isAddress)) return new Set(slice.cidrs.map(formatNetwork));
  const former = await loadFormerTargets(tx, slice.cidrs.map(formatNetwork));
  const all = [...requested, ...former.map(storedCidr)];
  return new Set(all.filter(belongs).map(formatNetwork));
}

/** Builds the policies of the targets that belong to a slice, in parts that take a few milliseconds. */
function* build(
  assembly: PolicyAssembly,
  belongs: (target: Cidr) => boolean,
): Generator<readonly Policy[]> {
  let policies: Policy[] = [];
  let until = performance.now() + BUILD_MS;
  for (const { target, carved } of assembly.targets()) {
    if (!belongs(target)) continue;
    const policy = assembly.policyOf(target);
    // An empty policy is needed only where it hides the wider policy of another holder.
    if (carved || !isEmptyPolicy(policy)) policies.push(policy);
    if (performance.now() < until) continue;
    yield policies;
    policies = [];
    until = performance.now() + BUILD_MS;
  }
  yield policies;
}

function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
