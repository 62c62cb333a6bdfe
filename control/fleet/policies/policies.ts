import { sql } from 'kysely';
import { isEmptyPolicy } from '@portcullis/core/firewall/build-policy.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { type Cidr, formatNetwork } from '@portcullis/core/net/cidr.ts';
import { mergeCidrs } from '@portcullis/core/net/cidr-sets.ts';
import type { Db, Tx } from '../../db/database.ts';
import { PolicyAssembly, storedCidr } from './assembly.ts';
import { loadFormerTargets, loadPolicyRows } from './rows.ts';
import { PrefixIndex } from '@portcullis/core/net/prefix-index.ts';

export interface LoadedPolicies {
  /** Complete, of now; sorted by target as text. */
  readonly policies: readonly Policy[];
  /** Targets asked for, and former ones inside prefixes asked for, that have no policy (any more). */
  readonly removed: readonly string[];
}

/** What a snapshot is of. */
export interface SnapshotMoment {
  /** The newest generation that the snapshot sees; it sees all of every generation up to it. */
  readonly generation: number;
  /** The moment by which holdings are judged, as PostgreSQL writes it. */
  readonly asOf: string;
}

/** Runs `read` on one consistent view of the database. Reads only. */
export async function inSnapshot<T>(db: Db, read: (tx: Tx) => Promise<T>): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(read);
}

/**
 * The generation and the moment of this transaction's view.
 *
 * Not `now()`: a transaction may begin before a holding ends and see the generation which ends it. Its policies
 * would carry that generation's number and the old holder's rules, and no edge would ask again.
 */
export async function readMoment(tx: Tx): Promise<SnapshotMoment> {
  const { rows } = await sql<SnapshotMoment>`
    select generation, greatest(clock_timestamp(), holdings_until)::text as "asOf" from fleet
  `.execute(tx);
  const moment = rows[0];
  if (moment === undefined) throw new Error('the fleet has lost its row');
  return moment;
}

/**
 * The accepted policies of now for these targets, or of the whole fleet.
 * A prefix among the targets means itself and everything inside it that has, or ever had, a policy.
 * Give it a transaction of `inSnapshot`, or else its statements see different states.
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
  const asked = targets.map(storedCidr);
  const parts = mergeCidrs(asked);
  if (parts.length === 0) return { policies: [], removed: [] };
  const region = parts.map(formatNetwork);
  const rows = await loadPolicyRows(tx, { region, asOf, generation: null });
  const policies = build(new PolicyAssembly(rows), parts);
  const former = parts.every(isAddress) ? [] : await loadFormerTargets(tx, region);
  const gone = new Set([...asked, ...former.map(storedCidr)].map(formatNetwork));
  for (const { target } of policies) gone.delete(target);
  return { policies, removed: [...gone].toSorted() };
}

/**
 * What an address asks of an edge, for `explain`: accepted, or as of a generation (the live one).
 * Holdings are those of now either way: nobody is judged by a former holder's rules.
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

/** Policies of all targets that need one; with parts, only of targets inside them. */
function build(assembly: PolicyAssembly, parts: readonly Cidr[] | null): readonly Policy[] {
  const inside = new PrefixIndex<true>();
  for (const part of parts ?? []) inside.add(part, true);
  const policies: Policy[] = [];
  for (const { target, carved } of assembly.targets()) {
    if (parts !== null && inside.covering(target).length === 0) continue;
    const policy = assembly.policyOf(target);
    // An empty policy matters only where it keeps another holder's wider one from judging.
    if (carved || !isEmptyPolicy(policy)) policies.push(policy);
  }
  return policies.toSorted((a, b) => (a.target < b.target ? -1 : 1));
}

function isAddress(cidr: Cidr): boolean {
  return cidr.length === (cidr.family === 4 ? 32 : 128);
}
