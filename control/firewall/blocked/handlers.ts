import { sql } from 'kysely';
import { MAX_BLOCKED } from '@portcullis/contract/schemas/declared/blocked-list.ts';
import { X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import { formatCidr, parseCidr, wholeFamily } from '@portcullis/core/net/cidr.ts';
import { keyActor, recordAudit } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import { Batch } from '../../fleet/batch.ts';
import { currentGeneration } from '../../fleet/generations.ts';
import type { CallOf, Handlers } from '../../http/operations/handlers.ts';
import type { CallerCall } from '../../http/operations/operation.ts';
import { measuredPropagation } from '../writes/propagation.ts';
import { Problem } from '../../problem.ts';
import {
  type BlockedScope,
  countBlocked,
  endBlocked,
  findStillBlocked,
  type SavedBlocked,
  saveBlocked,
  type StillBlocked,
} from './store.ts';
import { findHeldTarget } from '../defaults/service.ts';
import { enforcementNote } from '../held-store.ts';
import { timeView } from '../../http/operations/view.ts';

/** The list of blocked sources: dropped before any allow rule is read. */
export type BlockedHandlers = Pick<
  Handlers,
  'listBlockedSources' | 'blockSources' | 'unblockSources'
>;

const PER_PAGE = 1_000;

export function createBlockedHandlers({
  publicUrl,
}: {
  readonly publicUrl: string;
}): BlockedHandlers {
  return {
    async listBlockedSources(call, db) {
      const { after = 0, per_page: limit = PER_PAGE } = call.query;
      const rows = await loadBlocked(db, call, after, limit + 1);
      const page = rows.slice(0, limit);
      const query = new URLSearchParams({ after: `${page.at(-1)?.id}`, per_page: `${limit}` });
      const next = `${publicUrl}${X1_PREFIX}/firewall/blocked?${query}`;
      return {
        status: 200,
        body: {
          data: page.map(({ createdAt, expiresAt, ...row }) => ({
            ...row,
            created_at: timeView(createdAt),
            expires_at: expiresAt && timeView(expiresAt),
          })),
          meta: { count: await countBlocked(db, call.by.organisationId), limit: MAX_BLOCKED },
          links: { next: rows.length > limit ? next : null },
        },
      };
    },
    async blockSources(call, tx) {
      const scope = await findScope(tx, call, call.body.target ?? null);
      const sources = requireSources(call.body.sources, scope);
      const { saved, batch } = await block(tx, call, scope, sources);
      return answer(call, batch, scope, { did: 'block', ...saved, sources, still: [] });
    },
    async unblockSources(call, tx) {
      const scope = await findScope(tx, call, call.body.target ?? null);
      const sources = requireSources(call.body.sources, scope);
      const batch = new Batch(tx, 'portal');
      const created = await endBlocked(batch, scope, sources);
      const { organisationId, prefixes } = call.by;
      const still = await findStillBlocked(tx, organisationId, prefixes, sources);
      return answer(call, batch, scope, { did: 'unblock', created, renewed: 0, sources, still });
    },
  };
}

interface BlockedRow {
  readonly id: number;
  readonly source: string;
  readonly target: string | null;
  readonly note: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

/** The blocked sources: those of present holdings, as far as the key sees them. */
async function loadBlocked(
  db: Db,
  { by: caller }: CallerCall,
  after: number,
  limit: number,
): Promise<BlockedRow[]> {
  const { organisationId, prefixes } = caller;
  const { rows } = await sql<BlockedRow>`
    select b.id, abbrev(b.source::inet) as source, abbrev(b.target::inet) as target, b.note,
           b.created_at as "createdAt", b.expires_at as "expiresAt"
      from blocked_sources b left join holdings h on h.id = b.holding_id
     where b.organisation_id = ${organisationId} and b.deleted_generation is null and b.id > ${after}
       and (h.id is null or h.during @> now())
       and (${prefixes}::cidr[] is null or b.target <<= any (${prefixes}::cidr[]))
     order by b.id limit ${limit}`.execute(db);
  return rows;
}

interface Scope extends BlockedScope {
  readonly shown: string;
}

async function findScope(
  tx: Tx,
  { by: caller }: CallerCall,
  target: string | null,
): Promise<Scope> {
  const { organisationId, organisation } = caller;
  if (target !== null) return { organisationId, ...(await findHeldTarget(tx, caller, target)) };
  if (caller.prefixes !== null) {
    const detail = 'This key is bound to prefixes, so it needs a target inside them.';
    throw new Problem('invalid_request', detail, { errors: [{ pointer: '/target', detail }] });
  }
  const shown = `everything that ${organisation.slug} holds`;
  return { organisationId, holdingId: null, target: null, shown };
}

/** Canonical networks with their lengths, each once. Throws 422. */
function requireSources(sources: readonly string[], { target }: Scope): string[] {
  const held = target === null ? null : parseCidr(target);
  const found = sources.map((text, index) => {
    const refuse = (detail: string): Problem =>
      new Problem('invalid_request', `The source ${text} ${detail}.`, {
        errors: [{ pointer: `/sources/${index}`, detail }],
      });
    const source = parseCidr(text);
    if (!source.ok) throw refuse(`is not valid: ${source.reason}`);
    if (wholeFamily(source.value))
      throw refuse('is every address: set the default of the target to deny instead');
    if (held?.ok && held.value.family !== source.value.family)
      throw refuse(`is of the other family than ${target}`);
    return formatCidr(source.value);
  });
  return [...new Set(found)];
}

async function block(
  tx: Tx,
  call: CallOf<'blockSources'>,
  scope: Scope,
  sources: readonly string[],
): Promise<{ readonly batch: Batch; readonly saved: SavedBlocked }> {
  const { note = '', expires_at: expires = null } = call.body;
  if (expires !== null && Date.parse(expires) <= Date.now()) {
    const detail = 'is over already';
    throw new Problem('invalid_request', `expires_at ${detail}.`, {
      errors: [{ pointer: '/expires_at', detail }],
    });
  }
  const batch = new Batch(tx, 'portal');
  return { batch, saved: await saveBlocked(batch, scope, { sources, note, expires }) };
}

interface Done extends SavedBlocked {
  readonly did: 'block' | 'unblock';
  readonly sources: readonly string[];
  readonly still: readonly StillBlocked[];
}

async function answer(call: CallerCall, batch: Batch, scope: Scope, done: Done) {
  const { did, created, renewed, sources, still } = done;
  const generation = await batch.takeGeneration(`source.${did}`);
  if (created + renewed > 0) {
    await recordAudit(batch.tx, {
      actor: keyActor(call),
      organisationId: scope.organisationId,
      action: created > 0 ? `source.${did}` : 'source.renew',
      target: scope.target ?? call.by.organisation.slug,
      detail: { sources: sources.slice(0, 20), count: sources.length },
      ...(generation !== null && { generation }),
    });
  }
  const propagation = created === 0 ? '' : await measuredPropagation(batch.tx);
  const note = created === 0 ? '' : await enforcementNote(batch.tx, call.by, scope.shown);
  return {
    status: 200 as const,
    body: {
      data: {
        target: scope.target === null ? null : scope.shown,
        changed: created + renewed,
        unchanged: sources.length - created - renewed,
        still_blocked: still.map(({ source, by, target }) => ({ source, by, target })),
      },
      message: `${messageOf(scope, done, propagation)}${note}`,
    },
    headers: {
      'portcullis-generation': String(generation ?? (await currentGeneration(batch.tx))),
      'cache-control': 'no-store',
    },
  };
}

function messageOf(
  { shown }: Scope,
  { did, created, renewed, still }: Done,
  propagation: string,
): string {
  const sentences: string[] = [];
  if (created > 0) {
    sentences.push(`${counted(created)} ${did}ed on ${shown}. ${propagation}`);
  }
  if (renewed > 0)
    sentences.push(`Note and end of ${renewed} blocked on ${shown} are now those sent.`);
  if (sentences.length === 0 && (did === 'block' || still.length === 0))
    sentences.push(`Nothing was changed on ${shown}: it is so already.`);
  for (const { source, by, target } of still) {
    const where =
      target === null
        ? 'everything that is held: leave the target out'
        : `${target}: name it as the target`;
    const network = by === source ? '' : ` as a part of ${by}`;
    sentences.push(`${source} is still blocked${network} on ${where} to unblock ${by}.`);
  }
  return sentences.join(' ');
}

function counted(count: number): string {
  return count === 1 ? '1 source was' : `${count} sources were`;
}
