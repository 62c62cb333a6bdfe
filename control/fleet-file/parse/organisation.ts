import { ABILITIES, type Ability, flagOf } from '@portcullis/core/access/abilities.ts';
import { parseKey } from '@portcullis/core/access/key-format.ts';
import { isPortName } from '@portcullis/core/firewall/rules/entry.ts';
import type { DesiredKey, DesiredOrganisation } from '../desired.ts';
import { sentence } from '../../operator/index.ts';
import type { NamedPorts } from './named-ports.ts';
import type { Scope } from './scope.ts';
import type { KeyText, OrganisationText } from '../schema/schema.ts';

/** Parses the keys of an organisation. */
export function parseOrganisation(
  slug: string,
  text: OrganisationText,
  scope: Scope,
): DesiredOrganisation {
  return {
    at: scope.at,
    slug,
    keys: parseKeys(text, scope.in('keys')),
  };
}

/** An organisation whose services and groups name ports of game servers as the schemas of their kinds have them. */
export function withNamedPorts(text: OrganisationText, named: NamedPorts, scope: Scope): object {
  const services = text.services?.map((service, index) => ({
    ...service,
    managed_filters: service.managed_filters?.map((filter, at) => {
      if (typeof filter === 'string') return { type: filter, ports: null };
      const { type, ports } = filter;
      const within = scope.in('services', index, 'managed_filters', at, 'ports');
      return { type, ports: ports === undefined ? null : named.managed(ports, service.id, within) };
    }),
  }));
  const groups = text.groups?.map((group, index) => ({
    ...group,
    rules: group.rules?.map((rule, at) => {
      const { destination_port: port } = rule;
      if (typeof port !== 'string' || !isPortName(port)) return rule;
      const found = named.find(port);
      if (found.ok) return { ...rule, destination_port: `${found.server}:${found.port.name}` };
      scope.in('groups', index, 'rules', at, 'destination_port').refuse(sentence(found.reason));
      return { ...rule, destination_port: null };
    }),
  }));
  return { ...text, services, groups };
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
