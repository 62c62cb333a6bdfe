import { ABILITIES, type Ability, flagOf } from '@portcullis/core/access/abilities.ts';
import { parseKey } from '@portcullis/core/access/key-format.ts';
import type { DefaultAction } from '@portcullis/core/firewall/policy.ts';
import type { ManagedFilter } from '../../db/schema.ts';
import type {
  DesiredHolding,
  DesiredKey,
  DesiredOrganisation,
  DesiredService,
} from '../desired.ts';
import type { OrganisationLimits } from '../../organisations/index.ts';
import { parseDetection } from './detection.ts';
import { checkFilterType, parseBlocked, parseGeoRules, parseGroups } from './firewall.ts';
import { sentence } from '../../operator/index.ts';
import type { NamedPorts } from './named-ports.ts';
import type { Scope } from './scope.ts';
import type { DetectionText, KeyText, OrganisationText, ServiceText } from '../schema/schema.ts';

/** interface.md 8 and decisions.md. */
export const DEFAULT_LIMITS: OrganisationLimits = {
  rulesPerIp: 100,
  filtersPerIp: 25,
  maxPortsPerRequest: 101,
  attackHistoryDays: 90,
  configuredAddresses: 10_000,
  requestsPerMinute: 600,
};

const DEFAULT_MANAGED: readonly ManagedFilter[] = [
  { type: 'tcp-syn-proxy', ports: null },
  { type: 'udp-stateful', ports: null },
];

export function parseOrganisation(
  slug: string,
  text: OrganisationText,
  {
    scope,
    named,
    operatorAsns,
  }: {
    readonly scope: Scope;
    readonly named: NamedPorts;
    readonly operatorAsns: readonly number[];
  },
): DesiredOrganisation {
  const limits = parseLimits(text.limits);
  const flags = text.flags ?? [];
  scope.in('flags').unique(flags, String, '', 'The flag');
  const asns = text.asns ?? [];
  scope.in('asns').unique(asns, String, '', 'The ASN');
  const services = text.services ?? [];
  scope.in('services').unique(services, ({ id }) => String(id), 'id', 'The service');
  return {
    at: scope.at,
    slug,
    name: text.name,
    flags: [...flags].toSorted(),
    limits,
    asns: asns.map((asn, index) => ({ asn, at: scope.in('asns', index).at })),
    services: services.map((service, index) =>
      parseService(service, named, scope.in('services', index)),
    ),
    holdings: [
      ...parsePrefixes(text, operatorAsns, scope),
      ...services.flatMap((service, index) =>
        parseServiceHoldings(service, text.default ?? null, scope.in('services', index)),
      ),
    ],
    keys: parseKeys(text, scope.in('keys')),
    groups: parseGroups(
      text.groups ?? [],
      { maxPorts: limits.maxPortsPerRequest, named },
      scope.in('groups'),
    ),
    geoRules: parseGeoRules(text.geo_rules ?? [], scope.in('geo_rules')),
    blocked: parseBlocked(text.blocked_sources ?? [], scope.in('blocked_sources')),
    detection: parseDetection(text, scope),
  };
}

function parseLimits(text: OrganisationText['limits']): OrganisationLimits {
  return {
    rulesPerIp: text?.rules_per_ip ?? DEFAULT_LIMITS.rulesPerIp,
    filtersPerIp: text?.filters_per_ip ?? DEFAULT_LIMITS.filtersPerIp,
    maxPortsPerRequest: text?.max_ports_per_request ?? DEFAULT_LIMITS.maxPortsPerRequest,
    attackHistoryDays: text?.attack_history_days ?? DEFAULT_LIMITS.attackHistoryDays,
    configuredAddresses: text?.configured_addresses ?? DEFAULT_LIMITS.configuredAddresses,
    requestsPerMinute: text?.requests_per_minute ?? DEFAULT_LIMITS.requestsPerMinute,
  };
}

function parseService(text: ServiceText, named: NamedPorts, scope: Scope): DesiredService {
  const wanted = text.managed_filters?.map(
    (filter, index): ManagedFilter & { itemScope: Scope } => {
      const itemScope = scope.in('managed_filters', index);
      if (typeof filter === 'string') return { type: filter, ports: null, itemScope };
      const { type, ports } = filter;
      if (ports === undefined) return { type, ports: null, itemScope };
      return { type, ports: named.managed(ports, text.id, itemScope.in('ports')), itemScope };
    },
  );
  for (const { type, itemScope } of wanted ?? []) checkFilterType(type, itemScope);
  scope.in('managed_filters').unique(wanted ?? [], ({ type }) => type, '', 'The filter');
  const managedFilters = (wanted ?? DEFAULT_MANAGED)
    .map(({ type, ports }) => ({ type, ports }))
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
  return {
    at: scope.at,
    id: text.id,
    name: text.name,
    active: text.active ?? true,
    managedFilters,
    detection: parseDetection(text, scope),
  };
}

function parsePrefixes(
  text: OrganisationText,
  operatorAsns: readonly number[],
  scope: Scope,
): DesiredHolding[] {
  return (text.prefixes ?? []).flatMap((prefix, index) => {
    const itemScope = scope.in('prefixes', index);
    const cidr = itemScope.in('cidr').cidr(prefix.cidr);
    const { asn = null } = prefix;
    const known = [...(text.asns ?? []), ...operatorAsns];
    if (asn !== null && !known.includes(asn)) {
      const listed = known.length > 0 ? known.join(', ') : 'none';
      const message = `AS${asn} is neither the organisation's nor the operator's (${listed}): list it in asns of one of them, or leave it out.`;
      itemScope.in('asn').refuse(message);
    }
    const holding = { cidr, asn, serviceId: null, default: prefix.default ?? text.default ?? null };
    return parseHolding(prefix, holding, itemScope);
  });
}

function parseServiceHoldings(
  { id, prefixes = [], addresses = [] }: ServiceText,
  fallback: DefaultAction | null,
  scope: Scope,
): DesiredHolding[] {
  const ofService = (text: HoldingText, cidr: string | null, itemScope: Scope) => {
    const holding = { cidr, asn: null, serviceId: id, default: text.default ?? fallback };
    return parseHolding(text, holding, itemScope);
  };
  return [
    ...prefixes.flatMap((prefix, index) => {
      const itemScope = scope.in('prefixes', index);
      return ofService(prefix, itemScope.in('cidr').cidr(prefix.cidr), itemScope);
    }),
    ...addresses.flatMap((address, index) => {
      const itemScope = scope.in('addresses', index);
      return ofService(address, itemScope.in('ip').address(address.ip), itemScope);
    }),
  ];
}

type HoldingText = DetectionText & {
  readonly since?: string;
  readonly until?: string;
  readonly default?: DefaultAction;
};

/** None if its network or its time was refused. */
function parseHolding(
  text: HoldingText,
  { cidr, ...of }: Pick<DesiredHolding, 'asn' | 'serviceId' | 'default'> & { cidr: string | null },
  scope: Scope,
): DesiredHolding[] {
  const window = parseWindow(text, scope);
  if (cidr === null || window === null) return [];
  return [{ at: scope.at, cidr, ...of, detection: parseDetection(text, scope), ...window }];
}

function parseWindow(
  text: { readonly since?: string; readonly until?: string },
  scope: Scope,
): { since: Date | null; until: Date | null } | null {
  const since = text.since === undefined ? null : scope.in('since').moment(text.since);
  const until = text.until === undefined ? null : scope.in('until').moment(text.until);
  if (since !== null && until !== null && until <= since) {
    scope.in('until').refuse('A holding must end after it began.');
    return null;
  }
  if (text.since === undefined && until !== null) {
    scope.in('until').refuse('A holding that ends must say since when it is held, too.');
    return null;
  }
  return { since, until };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function parseKeys(text: OrganisationText, scope: Scope): DesiredKey[] {
  const keys = text.keys ?? [];
  scope.unique(keys, ({ name }) => name, 'name', 'The key');
  return keys.map((key, index) => {
    const itemScope = scope.in(index);
    const abilities = parseAbilities(key, text.flags ?? [], itemScope.in('abilities'));
    return {
      at: itemScope.at,
      name: key.name,
      abilities,
      servers: parseServers(key.servers, itemScope.in('servers')),
      managedServers: parseServers(key.manage_servers, itemScope.in('manage_servers')),
      prefixes:
        key.prefixes === undefined ? null : itemScope.in('prefixes').cidrs(key.prefixes).toSorted(),
      sources:
        key.sources === undefined ? null : itemScope.in('sources').cidrs(key.sources).toSorted(),
      expiresAt:
        key.expires_at === undefined ? null : itemScope.in('expires_at').moment(key.expires_at),
      secret: parseSecret(key, itemScope),
    };
  });
}

function parseAbilities(key: KeyText, flags: readonly string[], scope: Scope): Ability[] {
  scope.unique(key.abilities, String, '', 'The ability');
  return key.abilities
    .flatMap((text, index) => {
      const itemScope = scope.in(index);
      const ability = ABILITIES.find((known) => known === text);
      if (ability === undefined) {
        itemScope.refuse(`"${text}" is no ability; there are ${ABILITIES.join(', ')}.`);
        return [];
      }
      const flag = flagOf(ability);
      if (flag !== null && !flags.includes(flag)) {
        itemScope.refuse(`${ability} needs the flag ${flag}, which the organisation has not.`);
      }
      return [ability];
    })
    .toSorted();
}

function parseServers(servers: KeyText['servers'], scope: Scope): string[] | null {
  if (servers === undefined || servers === 'all') return null;
  const uuids = servers.map((uuid) => uuid.toLowerCase());
  for (const [index, uuid] of uuids.entries()) {
    if (!UUID.test(uuid)) scope.in(index).refuse('This is no uuid.');
  }
  scope.unique(uuids, String, '', 'The server');
  return uuids.toSorted();
}

/** Its mistakes never quote the secret. */
function parseSecret(key: KeyText, scope: Scope): string | null {
  if (Array.from(key.name).length > 100)
    scope.in('name').refuse('A key name has at most 100 characters.');
  if (key.secret === undefined) return null;
  const parsed = parseKey(key.secret);
  if (parsed.ok) return key.secret;
  const hint = '"portcullis keys generate" prints a good one';
  scope
    .in('secret')
    .refuse(`This is no key: ${sentence(parsed.reason).replace(/\.$/, '')}; ${hint}.`);
  return null;
}
