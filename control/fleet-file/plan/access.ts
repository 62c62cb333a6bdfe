import { createHash } from 'node:crypto';
import type {
  DesiredKey,
  DesiredOrganisation,
  DesiredService,
  OrganisationLimits,
} from '../desired.ts';
import { countOf, PlanDraft, wordDifferences } from './draft.ts';
import type { PlannedHolding } from './holdings.ts';
import type {
  CurrentKey,
  CurrentOrganisation,
  CurrentService,
  FleetState,
} from '../state/state.ts';

export function planOrganisation(
  draft: PlanDraft,
  current: CurrentOrganisation | undefined,
  wanted: DesiredOrganisation,
): void {
  const { slug, name, flags, limits } = wanted;
  const told = { slug, values: { name, flags, limits }, subject: `organisation ${slug}` };
  if (current === undefined) {
    draft.add(
      { do: 'organisation.create', sign: '+', words: name, organisation: slug, ...told },
      wanted.at,
    );
    return;
  }
  const before = { name: current.name, flags: [...current.flags].toSorted() };
  const words = [
    wordDifferences(before, { name, flags }),
    wordDifferences(limitFields(current.limits), limitFields(limits)),
  ]
    .filter((part) => part !== '')
    .join(', ');
  if (words !== '') {
    draft.add(
      { do: 'organisation.update', sign: '~', words, organisation: slug, ...told },
      wanted.at,
    );
  }
}

/** As the file names them. */
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

/** An organisation of the file's side that the file does not name any more keeps its row, for the history. */
export function planClosing(draft: PlanDraft, current: CurrentOrganisation): void {
  if (current.flags.length === 0) return;
  const { slug } = current;
  const words = 'closed: its areas are deactivated, its row stays for the history';
  const subject = `organisation ${slug}`;
  draft.add({ do: 'organisation.close', sign: '-', subject, words, slug, organisation: slug });
}

/** What the portal still has in an organisation that is to go. */
export function wordPortalSide(state: FleetState, organisationId: number): string {
  const live = ({ until }: { readonly until: Date | null }) => until === null || until > state.now;
  const mine = <T extends { readonly organisationId: number; readonly owner: string }>(
    rows: readonly T[],
  ) => rows.filter((row) => row.organisationId === organisationId && row.owner === 'portal');
  const kinds: readonly (readonly [number, string])[] = [
    [mine(state.holdings).filter(live).length, 'holding'],
    [mine(state.keys).filter(({ revoked }) => !revoked).length, 'key'],
    [mine(state.groups).length, 'group'],
    [mine(state.geoRules).length, 'geo rule'],
    [mine(state.gameServers).length, 'server'],
    [mine(state.services).filter(({ active }) => active).length, 'service'],
  ];
  return kinds.flatMap(([count, what]) => (count > 0 ? [countOf(count, what)] : [])).join(', ');
}

export function planAsns(
  draft: PlanDraft,
  state: FleetState,
  organisations: readonly DesiredOrganisation[],
  planned: readonly PlannedHolding[],
): void {
  const slugs = new Map(state.organisations.map(({ id, slug }) => [id, slug]));
  const current = new Map(state.asns.map((row) => [row.asn, row]));
  const wanted = new Set<number>();
  for (const { slug, asns } of organisations) {
    for (const { asn, at } of asns) {
      wanted.add(asn);
      const row = current.get(asn);
      const holder = row === undefined ? null : (slugs.get(row.organisationId) ?? null);
      const told = {
        do: 'asn.add',
        asn,
        subject: `AS${asn} of ${slug}`,
        organisation: slug,
      } as const;
      if (row?.owner === 'portal') {
        draft.refuse(at, `AS${asn} is ${holder}'s and belongs to the portal; change it there.`);
      } else if (row === undefined) draft.add({ sign: '+', words: '', ...told }, at);
      else if (holder !== slug) draft.add({ sign: '~', words: `was ${holder}'s`, ...told }, at);
    }
  }
  for (const { asn, organisationId, owner } of state.asns) {
    if (owner === 'portal' || wanted.has(asn)) continue;
    // Past holdings keep the number that they were announced under.
    if (planned.some((holding) => holding.asn === asn)) continue;
    const slug = slugs.get(organisationId) ?? '';
    const subject = `AS${asn} of ${slug}`;
    draft.add({ do: 'asn.remove', sign: '-', subject, words: '', asn, organisation: slug });
  }
}

export function planServices(
  draft: PlanDraft,
  state: FleetState,
  organisations: readonly DesiredOrganisation[],
  planned: readonly PlannedHolding[],
): void {
  const slugs = new Map(state.organisations.map(({ id, slug }) => [id, slug]));
  const current = new Map(state.services.map((row) => [row.id, row]));
  const wanted = new Set<number>();
  for (const { slug, services } of organisations) {
    for (const service of services) {
      wanted.add(service.id);
      const row = current.get(service.id);
      const holder = row === undefined ? null : (slugs.get(row.organisationId) ?? null);
      if (row?.owner === 'portal') {
        const message = `The service ${service.id} is ${holder}'s and belongs to the portal; change it there.`;
        draft.refuse(service.at, message);
      } else if (holder !== null && holder !== slug) {
        const message = `The service ${service.id} is ${holder}'s, and numbers of services are not passed on: choose another.`;
        draft.refuse(service.at, message);
      } else planService(draft, slug, row, service);
    }
  }
  for (const row of state.services) {
    if (row.owner === 'fleet' && !wanted.has(row.id)) {
      planServiceGone(draft, slugs.get(row.organisationId) ?? '', row, planned, state);
    }
  }
}

function showFilters(filters: CurrentService['managedFilters']): string[] {
  return filters.map(({ type, ports }) => (ports === null ? type : `${type}:${ports}`)).toSorted();
}

function planService(
  draft: PlanDraft,
  slug: string,
  row: CurrentService | undefined,
  service: DesiredService,
): void {
  const told = { service, subject: `service ${service.id} (${slug})`, organisation: slug };
  const words = service.name;
  if (row === undefined) {
    draft.add({ do: 'service.create', sign: '+', words, refresh: false, ...told }, service.at);
    return;
  }
  const { name, active } = service;
  const managed_filters = showFilters(service.managedFilters);
  const before = {
    name: row.name,
    active: row.active,
    managed_filters: showFilters(row.managedFilters),
  };
  const differences = wordDifferences(before, { name, active, managed_filters });
  if (differences === '') return;
  const refresh = wordDifferences(before, { managed_filters }) !== '';
  draft.add({ do: 'service.update', sign: '~', words: differences, refresh, ...told }, service.at);
}

function planServiceGone(
  draft: PlanDraft,
  slug: string,
  { id, active }: CurrentService,
  planned: readonly PlannedHolding[],
  { now, gameServers }: FleetState,
): void {
  if (gameServers.some((server) => server.serviceId === id && server.owner === 'portal')) {
    const message = `The service ${id} of ${slug} is not in the file, but has servers that belong to the portal; remove them there first.`;
    draft.refuse(PlanDraft.fileStart, message);
    return;
  }
  const held = planned.filter((holding) => holding.serviceId === id);
  if (held.some(({ owner, until }) => owner === 'portal' && (until === null || until > now))) {
    const message = `The service ${id} of ${slug} is not in the file, but has addresses that belong to the portal; remove them there first.`;
    draft.refuse(PlanDraft.fileStart, message);
    return;
  }
  const told = { id, sign: '-', subject: `service ${id} (${slug})`, organisation: slug } as const;
  if (held.length === 0) draft.add({ do: 'service.delete', words: '', ...told });
  else if (active) draft.add({ do: 'service.close', words: 'not active any more', ...told });
}

export function planKeys(
  draft: PlanDraft,
  state: FleetState,
  organisations: readonly DesiredOrganisation[],
): void {
  const slugs = new Map(state.organisations.map(({ id, slug }) => [id, slug]));
  const byName = new Map<string, CurrentKey>();
  for (const row of state.keys) {
    const name = `${slugs.get(row.organisationId)} ${row.name}`;
    const known = byName.get(name);
    if (known === undefined || (known.revoked && known.owner === 'portal')) byName.set(name, row);
  }
  const byHash = new Map(state.keys.map((row) => [row.hash, row]));
  const wanted = new Set<CurrentKey>();
  for (const { slug, keys } of organisations) {
    for (const key of keys) {
      const named = byName.get(`${slug} ${key.name}`);
      const row = named?.owner === 'portal' && named.revoked ? undefined : named;
      if (row !== undefined) wanted.add(row);
      const holder = key.secret === null ? undefined : byHash.get(hashHex(key.secret));
      if (row?.owner === 'portal') {
        draft.refuse(key.at, `The key ${key.name} belongs to the portal; change it there.`);
      } else if (holder !== undefined && holder !== row) {
        const message = `The secret of ${key.name} is that of another key, or was; make a new one.`;
        draft.refuse(key.at, message);
      } else planKey(draft, state.now, slug, row, key);
    }
  }
  for (const row of state.keys) {
    if (row.owner !== 'fleet' || row.revoked || wanted.has(row)) continue;
    const slug = slugs.get(row.organisationId) ?? '';
    const subject = `key ${row.name} (${slug})`;
    const words = 'revoked for good';
    draft.add({ do: 'key.revoke', sign: '-', subject, words, id: row.id, organisation: slug });
  }
}

function planKey(
  draft: PlanDraft,
  now: Date,
  slug: string,
  row: CurrentKey | undefined,
  key: DesiredKey,
): void {
  const subject = `key ${key.name} (${slug})`;
  if (row?.revoked) {
    draft.note(
      `${subject} was revoked and stays so: take it out of the file, or choose another name`,
    );
    return;
  }
  if (row === undefined) {
    if (key.expiresAt !== null && key.expiresAt <= now) {
      draft.note(`${subject} is not made: it would have expired already`);
      return;
    }
    const made = key.secret === null ? ', its secret is made and shown once' : '';
    const words = `${key.abilities.join(', ')}${made}`;
    draft.add({ do: 'key.create', sign: '+', subject, words, key, organisation: slug }, key.at);
    return;
  }
  const differences = wordDifferences(comparable(row), comparable(key));
  const replaced = key.secret !== null && hashHex(key.secret) !== row.hash;
  const parts = [differences, replaced ? 'another secret: the old one stops working' : ''];
  const words = parts.filter((part) => part !== '').join(', ');
  if (words === '') return;
  draft.add(
    { do: 'key.update', sign: '~', subject, words, id: row.id, key, organisation: slug },
    key.at,
  );
}

function comparable(
  key: Omit<DesiredKey, 'at' | 'secret' | 'abilities'> & { readonly abilities: readonly string[] },
) {
  return {
    abilities: [...key.abilities].toSorted(),
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
