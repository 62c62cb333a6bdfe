import { sql } from 'kysely';
import { isEmptyPolicy } from '@portcullis/core/firewall/build-policy.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { type Cidr, formatNetwork } from '@portcullis/core/net/cidr.ts';
import { mergeCidrs } from '@portcullis/core/net/cidr-sets.ts';
import type { Db, Tx } from '../../db/database.ts';
import { lostFleet } from '../generations.ts';
import { PolicyAssembly, storedCidr } from './assembly.ts';
import { loadFormerTargets, loadPolicyRows } from './rows.ts';
import { PrefixIndex } from '@portcullis/core/net/prefix-index.ts';

export interface LoadedPolicies {
  /** Complete current policies, sorted by target as text. */
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
 * Loads the accepted policies of these targets, or of the whole fleet. A prefix includes everything inside it that
 * has, or ever had, a policy. Needs a transaction of `inSnapshot`, so that all statements see one state.
 */
export async function loadPolicies(
  tx: Tx,
  targets: readonly string[] | 'all',
): Promise<LoadedPolicies> {
  const { asOf } = await readMoment(tx);
  if (targets === 'all') {
    const rows = await loadPolicyRows(tx, { region: 'all', asOf, generation: null });
    return { policies: build(new PolicyAssembly(rows), null), removed: [] };
  }
  const requested = targets.map(storedCidr);
  const parts = mergeCidrs(requested);
  if (parts.length === 0) return { policies: [], removed: [] };
  const region = parts.map(formatNetwork);
  const rows = await loadPolicyRows(tx, { region, asOf, generation: null });
  const policies = build(new PolicyAssembly(rows), parts);
  const former = parts.every(isAddress) ? [] : await loadFormerTargets(tx, region);
  const gone = new Set([...requested, ...former.map(storedCidr)].map(formatNetwork));
  for (const { target } of policies) gone.delete(target);
  return { policies, removed: [...gone].toSorted() };
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

/** Builds the policies of all targets, or of the targets inside `parts`. */
function build(assembly: PolicyAssembly, parts: readonly Cidr[] | null): readonly Policy[] {
  const inside = new PrefixIndex<true>();
  for (const part of parts ?? []) inside.add(part, true);
  const policies: Policy[] = [];
  for (const { target, carved } of assembly.targets()) {
    if (parts !== null && inside.covering(target).length === 0) continue;
    const policy = assembly.policyOf(target);
    // An empty policy is needed only where it hides the wider policy of another holder.
    if (carved || !isEmptyPolicy(policy)) policies.push(policy);
  }
  return policies.toSorted((a, b) => (a.target < b.target ? -1 : 1));
}

function isAddress(cidr: Cidr): boolean {
  return cidr.length === (cidr.family === 4 ? 32 : 128);
}
