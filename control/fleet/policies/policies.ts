import { sql } from 'kysely';
import { isEmptyPolicy } from '@portcullis/core/firewall/build-policy.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { type Cidr, formatNetwork } from '@portcullis/core/net/cidr.ts';
import { mergeCidrs } from '@portcullis/core/net/cidr-sets.ts';
import type { Db, Tx } from '../../db/database.ts';
import { lostFleet } from '../generations.ts';
import { PolicyAssembly, storedCidr } from './assembly.ts';
import { loadFormerTargets, loadPolicyRows, type PolicyRows } from './rows.ts';
import { addressSlices, isAddress, loadSlices, type Slice } from './slices.ts';
import { PrefixIndex } from '@portcullis/core/net/prefix-index.ts';

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
export interface SnapshotMoment {
  /** The newest visible generation; every older one is visible too. */
  readonly generation: number;
  /** The time at which holdings are evaluated, as PostgreSQL writes it. */
  readonly asOf: string;
}

/** Runs `read` in a read-only snapshot. */
export async function inSnapshot<T>(db: Db, read: (tx: Tx) => Promise<T>): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(read);
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

/**
 * Loads the accepted policies of these targets, or of the whole fleet, in parts of bounded size. A prefix includes
 * everything inside it that has, or ever had, a policy. Needs a transaction of one snapshot, so that all statements see
 * one state; between parts the event loop turns.
 */
export async function* streamPolicies(
  tx: Tx,
  targets: readonly string[] | 'all',
  { sliceWeight = SLICE_WEIGHT }: { readonly sliceWeight?: number | undefined } = {},
): AsyncGenerator<LoadedPolicies, void> {
  const { asOf } = await readMoment(tx);
  const requested = targets === 'all' ? null : targets.map(storedCidr);
  const parts = requested === null ? null : mergeCidrs(requested);
  const slices =
    requested?.every(isAddress) === true
      ? addressSlices(requested)
      : await loadSlices(tx, parts ?? 'all', sliceWeight);
  const load = ({ cidrs }: Slice): Promise<PolicyRows> =>
    loadPolicyRows(tx, { region: cidrs.map(formatNetwork), asOf, generation: null });
  const within = new PrefixIndex<true>();
  for (const part of parts ?? []) within.add(part, true);
  let next = slices[0] === undefined ? null : load(slices[0]);
  for (const [at, slice] of slices.entries()) {
    const rows = await next;
    if (rows === null) break;
    const belongs = (target: Cidr): boolean =>
      slice.begins(target) && (parts === null || within.covering(target).length > 0);
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
  options: { readonly sliceWeight?: number } = {},
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
  const { asOf } = await readMoment(tx);
  const rows = await loadPolicyRows(tx, {
    region: [ip],
    asOf,
    generation: options.generation ?? null,
  });
  return new PolicyAssembly(rows).policyOf(storedCidr(ip));
}

/** What has to be removed, unless a policy of it is found. */
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
