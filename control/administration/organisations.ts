import { parseSafelistEntry } from '@portcullis/core/attacks/detector/safelist.ts';
import type { ScopeSettings } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { loadSuggestions, suggestionView } from '../detection/index.ts';
import { countOf } from '@portcullis/core/count.ts';
import { sql } from 'kysely';
import { listKeys, operatorActor, revokeKey } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import { DEFAULT_LIMITS } from '../fleet-file/parse/organisation.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import type { Answer } from '../http/operations/operation.ts';
import {
  deleteAsn,
  loadHoldings,
  saveAsns,
  saveDetections,
  saveOrganisations,
} from '../organisations/index.ts';
import { conflict, invalidField, Problem } from '../problem.ts';
import {
  type Done,
  finishWrite,
  type OrganisationCall,
  requireOrganisation,
  type Written,
  writeOrganisation,
} from './organisation-write.ts';
import { operate } from '../operator/index.ts';
import { findAsn, findService, loadOrganisations } from './store.ts';
import { organisationView } from './views.ts';

type Names =
  | 'listOrganisations'
  | 'readOrganisation'
  | 'endOrganisation'
  | 'saveOrganisation'
  | 'addAsn'
  | 'removeAsn'
  | 'saveThresholds'
  | 'suggestThresholds';

/** Organisations, their ASNs and thresholds. */
export function createOrganisationHandlers(): Pick<Handlers, Names> {
  return {
    async listOrganisations(call, db) {
      const organisations = await loadOrganisations(db, { externalId: call.query.external_id });
      return { status: 200, body: { data: organisations.map(organisationView) } };
    },
    async readOrganisation(call, db) {
      const organisation = await requireOrganisation(db, call.params.slug);
      return { status: 200, body: { data: [organisationView(organisation)] } };
    },
    saveOrganisation: saveOne,
    endOrganisation: (call, tx) =>
      writeOrganisation(call, tx, (written) => endOne(call, tx, written)),
    addAsn: (call, tx) =>
      writeOrganisation(call, tx, (written) => addAsn(call.params.asn, written)),
    removeAsn: (call, tx) =>
      writeOrganisation(call, tx, (written) => removeAsn(call.params.asn, written)),
    async suggestThresholds(call, db) {
      const { slug } = call.params;
      await requireOrganisation(db, slug);
      const suggestions = await loadSuggestions(db, slug);
      return { status: 200, body: { data: suggestions.map(suggestionView) } };
    },
    saveThresholds: (call, tx) =>
      writeOrganisation(call, tx, (written) => setThresholds(call, tx, written)),
  };
}

async function addAsn(asn: number, { batch, organisationId }: Written): Promise<Done> {
  const found = await findAsn(batch.tx, asn);
  if (found !== null && found.organisationId !== organisationId) {
    throw conflict(
      `AS${asn} is ${found.slug === null ? "the operator's, for prefixes of any organisation" : `${found.slug}'s: take it from there first`}.`,
    );
  }
  if (found === null) await saveAsns(batch, [{ asn, organisationId }]);
  return { action: 'asn.add', target: `AS${asn}`, detail: {} };
}

async function removeAsn(asn: number, { batch, organisationId }: Written): Promise<Done> {
  const found = await findAsn(batch.tx, asn);
  if (found?.organisationId !== organisationId) {
    throw new Problem('not_found', `The organisation has no AS${asn}.`);
  }
  batch.requireOwn(found.owner, `AS${asn}`);
  if (found.holdings > 0) {
    throw conflict(`Prefixes are or were announced under AS${asn}; it stays for their history.`);
  }
  await deleteAsn(batch, asn);
  return { action: 'asn.remove', target: `AS${asn}`, detail: {} };
}

async function saveOne(call: CallOf<'saveOrganisation'>, tx: Tx): Promise<Answer> {
  const { slug } = call.params;
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(slug)) {
    throw new Problem(
      'not_found',
      'A slug has lower-case letters, digits and dashes, and begins with no dash.',
    );
  }
  return operate(tx, async (batch) => {
    const [before] = await loadOrganisations(tx, { slug });
    if (before !== undefined) batch.requireOwn(before.owner, `The organisation ${slug}`);
    const { name, external_id, flags = before?.flags ?? [], limits = before?.limits } = call.body;
    const content = {
      slug,
      name,
      flags: [...new Set(flags)].toSorted(),
      limits: limits === undefined ? DEFAULT_LIMITS : limitsOf(limits),
    };
    const [id = 0] = await saveOrganisations(batch, [content]);
    if (external_id !== undefined) {
      await sql`update organisations set external_id = ${external_id} where id = ${id}`.execute(tx);
    }
    return finishWrite(call, batch, id, {
      action: before === undefined ? 'organisation.create' : 'organisation.change',
      target: `organisation:${slug}`,
      detail: { name, external_id, flags, limits },
    });
  });
}

function limitsOf(limits: NonNullable<CallOf<'saveOrganisation'>['body']['limits']>) {
  return {
    rulesPerIp: limits.rules_per_ip,
    filtersPerIp: limits.filters_per_ip,
    maxPortsPerRequest: limits.max_ports_per_request,
    attackHistoryDays: limits.attack_history_days,
    configuredAddresses: limits.configured_addresses,
    requestsPerMinute: limits.requests_per_minute,
  };
}

/** Its rows stay for the history, as those of one that leaves the fleet file. */
async function endOne(call: OrganisationCall, tx: Tx, { batch, organisationId, owner }: Written) {
  const { slug } = call.params;
  batch.requireOwn(owner, `The organisation ${slug}`);
  const { rows } = await sql<{ servers: number; holdings: number }>`
    select (select count(*) from game_servers where organisation_id = ${organisationId}) as servers,
           (select count(*) from holdings where organisation_id = ${organisationId}
               and (upper_inf(during) or upper(during) > now())) as holdings`.execute(tx);
  const [{ servers, holdings } = { servers: 0, holdings: 0 }] = rows;
  if (servers > 0 || holdings > 0) {
    const detail = `${slug} has ${countOf(servers, 'game server')} and ${countOf(holdings, 'holding')}: delete and end them first.`;
    throw conflict(detail);
  }
  await sql`update organisations set flags = '{}' where id = ${organisationId}`.execute(tx);
  for (const { id, revokedAt } of await listKeys(tx, organisationId)) {
    if (revokedAt === null) await revokeKey(tx, id, operatorActor(call));
  }
  return { action: 'organisation.end', target: `organisation:${slug}`, detail: {} };
}

async function setThresholds(
  { body, params }: CallOf<'saveThresholds'>,
  tx: Tx,
  { batch, organisationId }: Written,
) {
  const { scope, id = null, safelist, ...set } = body;
  if ((id === null) !== (scope === 'organisation')) {
    throw invalidField('/id', 'It names a service or a holding, and nothing for the organisation.');
  }
  const detection: ScopeSettings = {
    pps: set.pps,
    mbps: set.mbps,
    holdSeconds: set.hold_seconds,
    mitigation: set.mitigation,
    safelist: parseSafelist(safelist),
  };
  const row = await findScope(tx, { scope, id: id ?? organisationId, slug: params.slug });
  if (row?.organisationId !== organisationId) {
    throw new Problem('not_found', `The organisation has no ${scope} ${id}.`);
  }
  const target = id === null ? `organisation:${params.slug}` : `${scope}:${id}`;
  batch.requireOwn(row.owner, `What is set for ${target}`);
  await saveDetections(tx, scope, [{ id: id ?? organisationId, detection }]);
  return { action: 'detection.set', target, detail: { ...set, safelist: detection.safelist } };
}

async function findScope(tx: Tx, { scope, id, slug }: { scope: string; id: number; slug: string }) {
  if (scope === 'service') return findService(tx, id);
  if (scope === 'holding') return (await loadHoldings(tx, id))[0];
  const [organisation] = await loadOrganisations(tx, { slug });
  return organisation && { organisationId: organisation.id, owner: organisation.owner };
}

function parseSafelist(texts: readonly string[]): string[] {
  const entries = texts.map((text, index) => {
    const entry = parseSafelistEntry(text);
    if (!entry.ok) throw invalidField(`/safelist/${index}`, `${entry.reason}.`);
    return entry.value;
  });
  return [...new Set(entries)].toSorted();
}
