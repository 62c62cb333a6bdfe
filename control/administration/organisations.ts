import { parseSafelistEntry } from '@portcullis/core/attacks/detector/safelist.ts';
import type { ScopeSettings } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { MAX_ASN } from '@portcullis/contract/schemas/values.ts';
import { loadSuggestions, suggestionView } from '../attacks/index.ts';
import type { Tx } from '../db/database.ts';
import { Batch } from '../fleet/batch.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import type { Answer, Call } from '../http/operations/operation.ts';
import {
  deleteAsn,
  loadHoldings,
  lockFleet,
  saveAsns,
  saveDetections,
  saveOrganisations,
} from '../organisations/index.ts';
import { invalidField, Problem } from '../problem.ts';
import { land, type Written, writeOrganisation } from './organisation-write.ts';
import { findAsn, findService, loadOrganisations } from './store.ts';
import { organisationView } from './views.ts';

type Names =
  | 'listOrganisations'
  | 'saveOrganisation'
  | 'addAsn'
  | 'removeAsn'
  | 'saveThresholds'
  | 'suggestThresholds';

/** Organisations, their ASNs and thresholds. */
export function createOrganisationHandlers(): Pick<Handlers, Names> {
  return {
    async listOrganisations(_call, db) {
      const organisations = await loadOrganisations(db);
      return { status: 200, body: { data: organisations.map(organisationView) } };
    },
    saveOrganisation: saveOne,
    addAsn: (call, tx) =>
      writeOrganisation(call, tx, async ({ batch, organisationId }) => {
        const asn = pathAsn(call);
        const found = await findAsn(tx, asn);
        if (found !== null && found.organisationId !== organisationId) {
          throw new Problem(
            'invalid_request',
            `AS${asn} is ${found.slug === null ? "the operator's, for prefixes of any organisation" : `${found.slug}'s: take it from there first`}.`,
          );
        }
        if (found === null) await saveAsns(batch, [{ asn, organisationId }]);
        return { action: 'asn.add', target: `AS${asn}`, detail: {} };
      }),
    removeAsn: (call, tx) =>
      writeOrganisation(call, tx, async ({ batch, organisationId }) => {
        const asn = pathAsn(call);
        const found = await findAsn(tx, asn);
        if (found?.organisationId !== organisationId) {
          throw new Problem('not_found', `The organisation has no AS${asn}.`);
        }
        batch.requireOwn(found.owner, `AS${asn}`);
        if (found.holdings > 0) {
          const detail = `Prefixes are or were announced under AS${asn}; it stays for their history.`;
          throw new Problem('invalid_request', detail);
        }
        await deleteAsn(batch, asn);
        return { action: 'asn.remove', target: `AS${asn}`, detail: {} };
      }),
    async suggestThresholds(call, db) {
      const slug = call.params['slug'] ?? '';
      const [found] = await loadOrganisations(db, slug);
      if (found === undefined) throw new Problem('not_found', `There is no organisation ${slug}.`);
      const suggestions = await loadSuggestions(db, slug);
      return { status: 200, body: { data: suggestions.map(suggestionView) } };
    },
    saveThresholds: (call, tx) =>
      writeOrganisation(call, tx, (written) => setThresholds(call, tx, written)),
  };
}

async function saveOne(call: CallOf<'saveOrganisation'>, tx: Tx): Promise<Answer> {
  const slug = call.params['slug'] ?? '';
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(slug)) {
    throw new Problem(
      'not_found',
      'A slug has lower-case letters, digits and dashes, and begins with no dash.',
    );
  }
  await lockFleet(tx);
  const [before] = await loadOrganisations(tx, slug);
  const batch = new Batch(tx, 'portal');
  if (before !== undefined) batch.requireOwn(before.owner, `The organisation ${slug}`);
  const { name, flags, limits } = call.body;
  const content = {
    slug,
    name,
    flags: [...new Set(flags)].toSorted(),
    limits: {
      rulesPerIp: limits.rules_per_ip,
      filtersPerIp: limits.filters_per_ip,
      maxPortsPerRequest: limits.max_ports_per_request,
      attackHistoryDays: limits.attack_history_days,
      configuredAddresses: limits.configured_addresses,
      requestsPerMinute: limits.requests_per_minute,
    },
  };
  const [id = 0] = await saveOrganisations(batch, [content]);
  return land(call, batch, id, {
    action: before === undefined ? 'organisation.create' : 'organisation.change',
    target: `organisation:${slug}`,
    detail: { name, flags, limits },
  });
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
  const row = await findScope(tx, { scope, id: id ?? organisationId, slug: params['slug'] ?? '' });
  if (row?.organisationId !== organisationId) {
    throw new Problem('not_found', `The organisation has no ${scope} ${id}.`);
  }
  const target = id === null ? `organisation:${params['slug']}` : `${scope}:${id}`;
  batch.requireOwn(row.owner, `What is set for ${target}`);
  await saveDetections(tx, scope, [{ id: id ?? organisationId, detection }]);
  return { action: 'detection.set', target, detail: { ...set, safelist: detection.safelist } };
}

async function findScope(tx: Tx, { scope, id, slug }: { scope: string; id: number; slug: string }) {
  if (scope === 'service') return findService(tx, id);
  if (scope === 'holding') return (await loadHoldings(tx, id))[0];
  const [organisation] = await loadOrganisations(tx, slug);
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

function pathAsn({ params }: Pick<Call, 'params'>): number {
  const text = params['asn'] ?? '';
  const asn = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
  if (asn >= 1 && asn <= MAX_ASN) return asn;
  throw new Problem('not_found', `There is no ASN "${text.slice(0, 50)}".`);
}
