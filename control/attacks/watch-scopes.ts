import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import {
  NOTHING_SET,
  resolveScopes,
  type ScopeSettings,
  type WatchScope,
} from '@portcullis/core/attacks/detector/scope-settings.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import { type Cidr, formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { CancelledAttack } from '@portcullis/link/messages/attacks.ts';
import type { Db, Tx } from '../db/database.ts';
import { cancelledAttacks } from './cancelled.ts';
import { PrefixIndex } from '@portcullis/core/net/prefix-index.ts';

export interface WatchScopes {
  /** Changes exactly when the content changes. */
  readonly version: string;
  /** Sorted by scope. */
  readonly scopes: readonly WatchScope[];
  /** Sorted by subject. */
  readonly cancelled: readonly CancelledAttack[];
}

/**
 * Every present holding with its resolved thresholds, mitigation mode and safelist: its own, its service's, those of
 * containing prefixes of the same organisation, the organisation's, the defaults.
 */
export async function watchScopes(db: Db | Tx): Promise<WatchScopes> {
  const { rows } = await held(sql`true`).execute(db);
  const scopes = resolveHeld(rows);
  const cancelled = await cancelledAttacks(db);
  const all = JSON.stringify([scopes, cancelled]);
  const version = createHash('sha256').update(all).digest('hex').slice(0, 32);
  return { version, scopes, cancelled };
}

/** The settings of addresses and prefixes, by the longest containing holding. Null without a holding. */
export async function scopesOf(
  db: Db | Tx,
  subjects: readonly string[],
): Promise<NearestScope<WatchScope>> {
  const { rows } = await held(sql`h.id in (
    select a.id from unnest(${subjects}::cidr[]) as s join holdings a on a.cidr >>= s)`).execute(
    db,
  );
  return new NearestScope(resolveHeld(rows).map((one) => [one.scope, one] as const));
}

function held(which: RawBuilder<unknown>): RawBuilder<HeldRow> {
  return sql<HeldRow>`
    select h.cidr, h.organisation_id as "organisationId", h.detection as own,
           s.detection as service, o.detection as organisation
      from holdings h
      join organisations o on o.id = h.organisation_id
      left join services s on s.id = h.service_id
     where h.during @> statement_timestamp() and ${which}
     order by h.cidr`;
}

interface HeldRow {
  readonly cidr: string;
  readonly organisationId: number;
  readonly own: Partial<ScopeSettings>;
  /** Null for a prefix. */
  readonly service: Partial<ScopeSettings> | null;
  readonly organisation: Partial<ScopeSettings>;
}

function resolveHeld(rows: readonly HeldRow[]): WatchScope[] {
  const index = new PrefixIndex<HeldRow>();
  const networks = rows.map((row) => {
    const network = networkOf(row.cidr);
    index.add(network, row);
    return { network, row };
  });
  return networks
    .map(({ network, row }) => {
      const around = index
        .covering(network)
        .filter((other) => other !== row && other.organisationId === row.organisationId)
        .toReversed();
      const nearestFirst = [
        row.own,
        row.service,
        ...around.map(({ own }) => own),
        row.organisation,
      ];
      const settings = nearestFirst.map((said) => ({ ...NOTHING_SET, ...said }));
      return { scope: formatNetwork(network), subject: true, ...resolveScopes(settings) };
    })
    .toSorted((a, b) => (a.scope < b.scope ? -1 : 1));
}

function networkOf(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok)
    throw new Error(`the database holds ${text}, which is no network: ${parsed.reason}`);
  return parsed.value;
}
