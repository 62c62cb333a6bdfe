import { DEFAULT_LIMITS } from '@portcullis/contract/schemas/declared/limits.ts';
import type { DesiredOrganisation } from '../desired.ts';
import { parseBlocked, parseGeoRules, parseGroups } from './firewall.ts';
import type { NamedPorts } from './named-ports.ts';
import type { Scope } from './scope.ts';
import type { OrganisationText } from '../schema/schema.ts';

/** Parses the groups of an organisation, and what it blocks. */
export function parseOrganisation(
  slug: string,
  text: OrganisationText,
  { scope, named }: { readonly scope: Scope; readonly named: NamedPorts },
): DesiredOrganisation {
  const { max_ports_per_request: maxPorts = DEFAULT_LIMITS.max_ports_per_request } =
    text.limits ?? {};
  return {
    at: scope.at,
    slug,
    groups: parseGroups(text.groups ?? [], { maxPorts, named }, scope.in('groups')),
    geoRules: parseGeoRules(text.geo_rules ?? [], scope.in('geo_rules')),
    blocked: parseBlocked(text.blocked_sources ?? [], scope.in('blocked_sources')),
  };
}

/** An organisation whose services name filters as the schema of their kind has them. */
export function withManagedFilters(
  text: OrganisationText,
  named: NamedPorts,
  scope: Scope,
): object {
  const services = text.services?.map((service, index) => ({
    ...service,
    managed_filters: service.managed_filters?.map((filter, at) => {
      if (typeof filter === 'string') return { type: filter, ports: null };
      const { type, ports } = filter;
      const within = scope.in('services', index, 'managed_filters', at, 'ports');
      return { type, ports: ports === undefined ? null : named.managed(ports, service.id, within) };
    }),
  }));
  return { ...text, services };
}
