import { countOf } from '@portcullis/core/count.ts';
import { createHash } from 'node:crypto';
import type { DesiredKey, DesiredOrganisation, DesiredService } from '../desired.ts';
import type { OrganisationLimits } from '../../organisations/index.ts';
import type { CurrentKey, CurrentOrganisation, CurrentService } from '../state/state.ts';
import { describeDifferences, PlanDraft } from './draft.ts';
import type { PlannedHolding } from './holdings.ts';

export function planOrganisations(draft: PlanDraft): void {
  const left = new Map(draft.state.organisations.map((row) => [row.slug, row]));
  for (const { slug } of draft.file.organisations) {
    const wanted = draft.organisations.find((one) => one.slug === slug);
    if (wanted !== undefined) planOrganisation(draft, left.get(slug), wanted);
    left.delete(slug);
  }
  const portal = portalObjects(draft);
  for (const row of left.values()) {
    if (row.owner === 'fleet') planClosing(draft, row, portal.get(row.id));
  }
}

function planOrganisation(
  draft: PlanDraft,
  row: CurrentOrganisation | undefined,
  { slug, name, flags, limits, at }: DesiredOrganisation,
): void {
  const change = {
    slug,
    values: { name, flags, limits },
    subject: `organisation ${slug}`,
    organisation: slug,
  };
  if (row === undefined) {
    draft.add({ do: 'organisation.create', sign: '+', words: name, ...change }, at);
    return;
  }
  const words = describeDifferences(
    { name: row.name, flags: row.flags.toSorted(), ...limitFields(row.limits) },
    { name, flags, ...limitFields(limits) },
  );
  if (words !== '') draft.add({ do: 'organisation.update', sign: '~', words, ...change }, at);
}

/** Limits under the names that the file uses. */
function limitFields(limits: OrganisationLimits): Record<string, number> {
  return {
    rules_per_ip: limits.rulesPerIp,
    filters_per_ip: limits.filtersPerIp,
    max_ports_per_request: limits.maxPortsPerRequest,
    attack_history_days: limits.attackHistoryDays,
    configured_addresses: limits.configuredAddresses,
    requests_per_minute: limits.requestsPerMinute,
  };
}

/** An organisation that the file no longer names keeps its row, for the history. */
function planClosing(
  draft: PlanDraft,
  { slug, flags }: CurrentOrganisation,
  portal: string | undefined,
): void {
  if (portal !== undefined) {
    const message = `${slug} is not in the file, but has ${portal} that were made by hand: name them in the file and hand them to it with --adopt, or remove them first.`;
    draft.refuse(PlanDraft.fileStart, message);
  } else if (flags.length > 0) {
    const words = 'closed: its areas are deactivated, its row stays for the history';
    const subject = `organisation ${slug}`;
    draft.lose(PlanDraft.fileStart, `${subject} is not in the file, and would be closed.`);
    draft.add({ do: 'organisation.close', sign: '-', subject, words, slug, organisation: slug });
  }
}

interface OwnedRow {
  readonly organisationId: number;
  readonly owner: string;
}

/**
 * Objects that the portal still owns, by organisation: each noun with its live rows. One pass, because thousands may
 * be closed.
 */
function portalObjects({ state }: PlanDraft): ReadonlyMap<number, string> {
  const found = new Map<number, string[]>();
  const count = <T extends OwnedRow>(
    noun: string,
    rows: readonly T[],
    isLive: (row: T) => boolean = () => true,
  ): void => {
    const live = rows.filter((row) => row.owner === 'portal' && isLive(row));
    for (const [id, { length }] of Map.groupBy(live, ({ organisationId }) => organisationId)) {
      found.set(id, [...(found.get(id) ?? []), countOf(length, noun)]);
    }
  };
  count('holding', state.holdings, ({ until }) => until === null || until > state.now);
  count('key', state.keys, ({ revoked }) => !revoked);
  count('group', state.groups);
  count('geo rule', state.geoRules);
  const ids = new Map(state.organisations.map(({ id, slug }) => [slug, id]));
  count(
    'server',
    state.objects.server.map(({ object, owner }) => ({
      organisationId: ids.get(object.organisation) ?? 0,
      owner,
    })),
  );
  count('service', state.services, ({ active }) => active);
  return new Map([...found].map(([id, list]) => [id, list.join(', ')]));
}

export function planAsns(draft: PlanDraft, planned: readonly PlannedHolding[]): void {
  const left = new Map(draft.state.asns.map((row) => [row.asn, row]));
  const wanted = [
    ...draft.file.asns.map((asn) => ({ ...asn, organisation: null })),
    ...draft.organisations.flatMap(({ slug, asns }) =>
      asns.map((asn) => ({ ...asn, organisation: slug })),
    ),
  ];
  for (const { asn, at, organisation } of wanted) {
    const row = left.get(asn);
    left.delete(asn);
    const holder = row && holderOf(draft, row);
    const subject = `AS${asn} of ${organisation ?? 'the operator'}`;
    const change = { do: 'asn.add', asn, subject, organisation } as const;
    if (row?.owner === 'portal') {
      draft.refusePortal(at, `AS${asn} is ${holder ?? 'the operator'}'s and`);
    } else if (row === undefined) {
      draft.add({ sign: '+', words: '', ...change }, at);
    } else if (holder !== organisation) {
      draft.add({ sign: '~', words: `was ${holder ?? 'the operator'}'s`, ...change }, at);
    }
  }
  const announced = new Set(planned.map((holding) => holding.asn));
  for (const row of left.values()) {
    const { asn, owner } = row;
    if (owner === 'portal') continue;
    // Past holdings keep the number that they were announced under.
    if (announced.has(asn)) continue;
    const organisation = holderOf(draft, row);
    const subject = `AS${asn} of ${organisation ?? 'the operator'}`;
    draft.add({ do: 'asn.remove', sign: '-', subject, words: '', asn, organisation });
  }
}

/** The slug of the organisation that an ASN belongs to; null: the operator's. */
function holderOf(
  draft: PlanDraft,
  { organisationId }: { readonly organisationId: number | null },
): string | null {
  return organisationId === null ? null : draft.slugOf(organisationId);
}

export function planServices(draft: PlanDraft, planned: readonly PlannedHolding[]): void {
  const left = new Map(draft.state.services.map((row) => [row.id, row]));
  for (const { slug, services } of draft.organisations) {
    for (const service of services) {
      const row = left.get(service.id);
      left.delete(service.id);
      const holder = row && draft.slugOf(row.organisationId);
      if (row?.owner === 'portal') {
        draft.refusePortal(service.at, `The service ${service.id} is ${holder}'s and`);
      } else if (holder !== undefined && holder !== slug) {
        const message = `The service ${service.id} is ${holder}'s, and numbers of services are not passed on: choose another.`;
        draft.refuse(service.at, message);
      } else planService(draft, slug, row, service);
    }
  }
  for (const row of left.values()) {
    if (row.owner === 'fleet') planServiceRemoval(draft, row, planned);
  }
}

function showFilters(filters: CurrentService['managedFilters']): string[] {
  return filters.map(({ type, ports }) => (ports === null ? type : `${type}:${ports}`)).toSorted();
}

function planService(
  draft: PlanDraft,
  organisation: string,
  row: CurrentService | undefined,
  service: DesiredService,
): void {
  const { id, name, active, at } = service;
  const change = { service, subject: `service ${id} (${organisation})`, organisation };
  if (row === undefined) {
    draft.add({ do: 'service.create', sign: '+', words: name, refresh: false, ...change }, at);
    return;
  }
  const managed_filters = showFilters(service.managedFilters);
  const before = {
    name: row.name,
    active: row.active,
    managed_filters: showFilters(row.managedFilters),
  };
  const words = describeDifferences(before, { name, active, managed_filters });
  if (words === '') return;
  const refresh = describeDifferences(before, { managed_filters }) !== '';
  draft.add({ do: 'service.update', sign: '~', words, refresh, ...change }, at);
}

function planServiceRemoval(
  draft: PlanDraft,
  { id, active, organisationId }: CurrentService,
  planned: readonly PlannedHolding[],
): void {
  const { now, objects } = draft.state;
  const organisation = draft.slugOf(organisationId);
  const refuse = (what: string): void => {
    const message = `The service ${id} of ${organisation} is not in the file, but has ${what} that were made by hand: name them in the file and hand them to it with --adopt, or remove them first.`;
    draft.refuse(PlanDraft.fileStart, message);
  };
  if (objects.server.some(({ object, owner }) => object.service === id && owner === 'portal')) {
    refuse('servers');
    return;
  }
  const held = planned.filter((holding) => holding.serviceId === id);
  if (held.some(({ owner, until }) => owner === 'portal' && (until === null || until > now))) {
    refuse('addresses');
    return;
  }
  const change = {
    id,
    sign: '-',
    subject: `service ${id} (${organisation})`,
    organisation,
  } as const;
  if (held.length === 0) draft.add({ do: 'service.delete', words: '', ...change });
  else if (active) draft.add({ do: 'service.close', words: 'not active any more', ...change });
}

export function planKeys(draft: PlanDraft): void {
  const byName = new Map<string, CurrentKey>();
  for (const row of draft.state.keys) {
    // A revoked key of the portal leaves its name free.
    if (row.revoked && row.owner === 'portal') continue;
    const name = `${draft.slugOf(row.organisationId)} ${row.name}`;
    if (!byName.has(name)) byName.set(name, row);
  }
  const byHash = new Map(draft.state.keys.map((row) => [row.hash, row]));
  const wanted = new Set<CurrentKey>();
  for (const { slug, keys } of draft.organisations) {
    for (const key of keys) {
      const row = byName.get(`${slug} ${key.name}`);
      if (row !== undefined) wanted.add(row);
      const holder = key.secret === null ? undefined : byHash.get(hashHex(key.secret));
      if (row?.owner === 'portal') draft.refusePortal(key.at, `The key ${key.name}`);
      else if (holder !== undefined && holder !== row) {
        const message = `The secret of ${key.name} is that of another key, or was; make a new one.`;
        draft.refuse(key.at, message);
      } else planKey(draft, slug, row, key);
    }
  }
  for (const row of draft.state.keys) {
    if (row.owner !== 'fleet' || row.revoked || row.suspended || wanted.has(row)) continue;
    const organisation = draft.slugOf(row.organisationId);
    const subject = `key ${row.name} (${organisation})`;
    const words = 'suspended until the file names it again';
    draft.lose(
      PlanDraft.fileStart,
      `${subject} is not in the file: whoever uses it would be refused.`,
    );
    draft.add({ do: 'key.suspend', sign: '-', subject, words, id: row.id, organisation });
  }
}

function planKey(
  draft: PlanDraft,
  organisation: string,
  row: CurrentKey | undefined,
  key: DesiredKey,
): void {
  const subject = `key ${key.name} (${organisation})`;
  if (row?.revoked) {
    draft.note(
      `${subject} was revoked and stays so: take it out of the file, or choose another name`,
    );
    return;
  }
  const change = { subject, key, organisation };
  if (row === undefined) {
    if (key.expiresAt !== null && key.expiresAt <= draft.state.now) {
      draft.note(`${subject} is not made: it would have expired already`);
      return;
    }
    const secret = key.secret === null ? ', its secret is made and shown once' : '';
    const words = `${key.abilities.join(', ')}${secret}`;
    draft.add({ do: 'key.create', sign: '+', words, ...change }, key.at);
    return;
  }
  const differences = describeDifferences(
    { ...comparable(row), suspended: row.suspended },
    { ...comparable(key), suspended: false },
  );
  const replaced = key.secret !== null && hashHex(key.secret) !== row.hash;
  const parts = [differences, replaced ? 'another secret: the old one stops working' : ''];
  const words = parts.filter((part) => part !== '').join(', ');
  if (words === '') return;
  draft.add({ do: 'key.update', sign: '~', words, id: row.id, ...change }, key.at);
}

function comparable(
  key: Omit<DesiredKey, 'at' | 'secret' | 'abilities'> & { readonly abilities: readonly string[] },
) {
  return {
    abilities: key.abilities.toSorted(),
    servers: sortedOrAll(key.servers),
    manage_servers: sortedOrAll(key.managedServers),
    prefixes: sortedOrAll(key.prefixes),
    sources: sortedOrAll(key.sources),
    expires_at: key.expiresAt,
  };
}

function sortedOrAll(list: readonly string[] | null): string | string[] {
  return list === null ? 'all' : list.toSorted();
}

function hashHex(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
