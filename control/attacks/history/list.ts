import { V1_PREFIX } from '@portcullis/contract/endpoints.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import type { RawBuilder } from 'kysely';
import type { Db } from '../../db/database.ts';
import type { CallOf } from '../../http/operations/handlers.ts';
import {
  addressAsCidr,
  type AttackFilters,
  filterHoldings,
  type Reach,
  withinReach,
} from './visible-attacks.ts';
import { formatSnapshot, parseSnapshot, type Snapshot, type SnapshotScope } from './snapshot.ts';
import { type AttackRow, type Clock, countParts, loadView, loadSlice, partsOf } from './store.ts';
import {
  requestedWindow,
  type RequestedWindow,
  type AttackWindow,
  attackWindow,
  invalid,
} from './window.ts';
import { attackView, momentView } from './views.ts';

type ListCall = CallOf<'listAttacks'>;

const PER_PAGE = 25;

export interface ListDeps {
  readonly publicUrl: string;
  readonly now?: () => Date;
}

/** Operation 11: a page of the attacks that the caller may see. Throws 422. */
export function createList({ publicUrl, now = () => new Date() }: ListDeps) {
  return async (call: ListCall, db: Db) => {
    const narrowing = narrowingOf(call.query);
    const at = now();
    const asked = requestedWindow(call.query, at);
    const { clock, reach } = await loadView(db, call.by);
    const scope = { key: clock.snapshotKey, organisationId: call.by.organisationId };
    const before = snapshotOf(call.query, { ...scope, ...asked });
    const { attackHistoryDays } = call.by.organisation.limits;
    const entitlement = { heldSince: heldSince(reach), historyDays: attackHistoryDays };
    const window = attackWindow(asked, entitlement, before, at);
    const revision = revisionOf(before, clock);
    const { page = 1, per_page: perPage = PER_PAGE, ongoing = false } = call.query;
    const offset = (page - 1) * perPage;
    const holdings = filterHoldings(reach, narrowing);
    const condition = withinReach(reach, narrowing, holdings);
    const parts =
      holdings.length === 0 || window.isEmpty
        ? []
        : partsOf({ holdings, reach: condition, window, revision, ongoing });
    const found = await loadPage(db, parts, { offset, limit: perPage });
    const { from, to, clamp } = window;
    const snapshot = formatSnapshot({ revision, clamp }, { ...scope, from, to });
    const last = Math.max(1, Math.ceil(found.total / perPage));
    return {
      data: found.rows.map((row) => attackView(row, at)),
      links: pageLinks(publicUrl, call.query, { window, snapshot }, { current: page, last }),
      meta: {
        current_page: page,
        per_page: perPage,
        total: found.total,
        ...windowView(window),
      },
    };
  };
}

function windowView({ from, to, clamp }: AttackWindow) {
  return { from: momentView(from), to: momentView(to), from_clamped: clamp !== 'none' };
}

function heldSince({ holdings }: Reach): Date | null {
  const earliest = Math.min(...holdings.map(({ since }) => since.getTime()));
  return Number.isFinite(earliest) ? new Date(earliest) : null;
}

async function loadPage(
  db: Db,
  parts: readonly RawBuilder<unknown>[],
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<{ readonly total: number; readonly rows: readonly AttackRow[] }> {
  const rows: AttackRow[] = [];
  let total = 0;
  const found = await countParts(db, parts);
  for (const [index, part] of parts.entries()) {
    const count = found[index] ?? 0;
    const skipped = Math.max(0, offset + rows.length - total);
    rows.push(
      ...(await loadSlice(db, part, count, { offset: skipped, limit: limit - rows.length })),
    );
    total += count;
  }
  return { total, rows };
}

/** Row versions of an old snapshot may be deleted: then the list shows the present state. */
function revisionOf(asked: Snapshot | null, { revision, prunedRevision }: Clock): number {
  if (asked === null) return revision;
  if (asked.revision > revision) throw invalid('snapshot', 'must be taken from a link of a page');
  return asked.revision < prunedRevision ? revision : asked.revision;
}

function snapshotOf({ snapshot }: ListCall['query'], scope: SnapshotScope): Snapshot | null {
  if (snapshot === undefined) return null;
  const asked = parseSnapshot(snapshot, scope);
  if (asked === null) throw invalid('snapshot', 'must be taken from a link of a page');
  return asked;
}

function narrowingOf({ ip, prefix, asn }: ListCall['query']): AttackFilters {
  return {
    ip: ip === undefined ? null : addressOf(ip),
    prefix: prefix === undefined ? null : prefixOf(prefix),
    asn: asn ?? null,
  };
}

function addressOf(text: string) {
  const address = addressAsCidr(text);
  if (address === null) throw invalid('ip', 'must be an IPv4 or IPv6 address in its usual form');
  return address;
}

function prefixOf(text: string) {
  const cidr = parseCidr(text);
  if (!cidr.ok) throw invalid('prefix', `must be a valid CIDR block: ${cidr.reason}`);
  if (!text.includes('/'))
    throw invalid('prefix', `must have a length, such as ${text}/${cidr.value.length}`);
  return cidr.value;
}

type LinkedQuery = Readonly<Record<string, string | number | boolean | undefined>>;

interface PageLinks {
  readonly first: string;
  readonly last: string;
  readonly prev: string | null;
  readonly next: string | null;
}

/**
 * Builds links on the public URL, because a request's Host cannot be trusted. They keep every parameter and pin window
 * and snapshot, so that a caller who follows them sees each attack once.
 */
function pageLinks(
  publicUrl: string,
  query: LinkedQuery,
  pinned: { readonly window: RequestedWindow; readonly snapshot: string },
  pages: { readonly current: number; readonly last: number },
): PageLinks {
  const { window, snapshot } = pinned;
  const to = (page: number): string => {
    const params = new URLSearchParams();
    const all = {
      ...query,
      from: momentView(window.from),
      to: momentView(window.to),
      snapshot,
      page,
    };
    for (const [name, value] of Object.entries(all)) {
      if (value !== undefined) params.set(name, String(value));
    }
    return `${publicUrl}${V1_PREFIX}/attacks?${params.toString()}`;
  };
  const { current, last } = pages;
  return {
    first: to(1),
    last: to(last),
    prev: current > 1 ? to(Math.min(current - 1, last)) : null,
    next: current < last ? to(current + 1) : null,
  };
}
