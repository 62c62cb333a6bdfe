import { notifyAccess, personActor, recordAudit } from '../access/index.ts';
import { loadCollectorStatuses } from '../collectors/index.ts';
import type { Tx } from '../db/database.ts';
import { type EdgeStatus, loadEdgeStatuses } from '../fleet/index.ts';
import { loadNodeStatuses, type NodeStatus } from '../game-servers/index.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import { Problem } from '../problem.ts';
import { loadOrganisations, searchAudit, storeOrganisation } from './store.ts';
import { timeView, timeViewOrNull } from './views.ts';

export type OperatorHandlers = Pick<
  Handlers,
  'listOrganisations' | 'saveOrganisation' | 'readFleetHealth' | 'readAuditTrail'
>;

const PER_PAGE = 50;

export function createOperatorHandlers(): OperatorHandlers {
  return {
    async listOrganisations(_call, db) {
      return { status: 200, body: { data: await loadOrganisations(db) } };
    },
    async saveOrganisation(call, tx) {
      return { status: 200, body: { data: await saveOrganisation(call, tx) } };
    },
    async readFleetHealth(_call, db) {
      const [edges, nodes, collectors] = [
        await loadEdgeStatuses(db),
        await loadNodeStatuses(db),
        await loadCollectorStatuses(db),
      ];
      const data = { edges: edges.map(edgeView), nodes: nodes.map(nodeView), collectors };
      return { status: 200, body: { data } };
    },
    async readAuditTrail(call, db) {
      const { search, organisation, before, per_page: perPage = PER_PAGE } = call.query;
      const found = await searchAudit(db, {
        text: search ?? null,
        organisation: organisation ?? null,
        before: before ?? null,
        limit: perPage + 1,
      });
      const shown = found.slice(0, perPage);
      const last = found.length > perPage ? shown.at(-1) : undefined;
      const query = new URLSearchParams({
        per_page: String(perPage),
        ...(search !== undefined && { search }),
        ...(organisation !== undefined && { organisation }),
        before: String(last?.id ?? 0),
      });
      const data = shown.map((entry) => ({ ...entry, at: timeView(entry.at) }));
      const next = last === undefined ? null : `?${query}`;
      return { status: 200, body: { data, links: { next } } };
    },
  };
}

async function saveOrganisation(call: CallOf<'saveOrganisation'>, tx: Tx) {
  const slug = call.params['slug'] ?? '';
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(slug)) {
    throw new Problem(
      'not_found',
      'A slug has lower-case letters, digits and dashes, and begins with no dash.',
    );
  }
  const [before] = await loadOrganisations(tx, slug);
  if (before?.owner === 'fleet') {
    throw new Problem(
      'managed_by_fleet_file',
      `The organisation ${slug} belongs to the fleet file: change it there.`,
    );
  }
  const { name, flags, limits } = call.body;
  const organisationId = await storeOrganisation(tx, { slug, name, flags, limits });
  if (call.person === null) throw new Error('an operator row was reached without a person');
  const { source, requestId } = call;
  await recordAudit(tx, {
    // An operator acts as such here, whether or not for an organisation.
    actor: personActor({ person: { ...call.person, isActing: true }, source, requestId }),
    organisationId,
    action: before === undefined ? 'organisation.create' : 'organisation.change',
    target: `organisation:${slug}`,
    detail: { name, flags, limits },
  });
  await notifyAccess(tx);
  return loadOrganisations(tx, slug);
}

function edgeView({ modeReason, inService, lastSeenAt, refused, ...edge }: EdgeStatus) {
  const { name, site, serves, sees, fragments, mode, generation, report } = edge;
  return {
    name,
    site,
    serves,
    sees,
    fragments,
    mode,
    generation,
    report,
    mode_reason: modeReason,
    in_service: inService,
    last_seen_at: timeViewOrNull(lastSeenAt),
    accepted_generation: edge.acceptedGeneration,
    lag_ms: edge.lagMs,
    refused: refused.map(({ target, reason, goodGeneration }) => ({
      target,
      reason,
      good_generation: goodGeneration,
    })),
  };
}

function nodeView({ enrolledAt, lastSeenAt, ...node }: NodeStatus) {
  const { name, connected, engine, servers, built, failed } = node;
  return {
    name,
    connected,
    engine,
    servers,
    built,
    failed,
    enrolled_at: timeViewOrNull(enrolledAt),
    last_seen_at: timeViewOrNull(lastSeenAt),
  };
}
