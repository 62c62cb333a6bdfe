import type { ServerObject } from '@portcullis/contract/schemas/declared/game-server.ts';
import { DEFAULT_NODE_PORTS } from '../../declared/nodes.ts';
import type { DesiredNode, DesiredOrganisation } from '../desired.ts';
import type { FleetText } from '../schema/schema.ts';
import type { Scope } from './scope.ts';

export function parseNodes(entries: NonNullable<FleetText['nodes']>, scope: Scope): DesiredNode[] {
  scope.unique(entries, ({ name }) => name, 'name', 'The node');
  return entries.map(({ name, memory, disk, addresses = [], ports }, index) => {
    const itemScope = scope.in(index);
    const hosts = addresses.flatMap((ip, at) => itemScope.in('addresses', at).host(ip) ?? []);
    itemScope.in('addresses').unique(hosts, String, '', 'The address');
    return {
      at: itemScope.at,
      name,
      memory: memory ?? null,
      disk: disk ?? null,
      addresses: hosts,
      ports: itemScope.in('ports').ports(ports ?? DEFAULT_NODE_PORTS) ?? DEFAULT_NODE_PORTS,
    };
  });
}

interface Others {
  readonly organisations: readonly DesiredOrganisation[];
  readonly nodes: NonNullable<FleetText['nodes']>;
}

/** Refuses servers that name an organisation, a service or a node that the file does not have. */
export function checkServers(
  servers: readonly ServerObject[],
  { organisations, nodes }: Others,
  scope: Scope,
): void {
  const known = new Set(nodes.map(({ name }) => name));
  for (const [index, { organisation, service, node }] of servers.entries()) {
    const itemScope = scope.in(index);
    if (!known.has(node)) itemScope.in('node').refuse(`There is no node ${node} in this file.`);
    const found = organisations.find(({ slug }) => slug === organisation);
    if (found === undefined) {
      itemScope.in('organisation').refuse(`There is no organisation ${organisation} in this file.`);
    } else if (!found.services.some(({ id }) => id === service)) {
      itemScope.in('service').refuse(`${organisation} has no service ${service}.`);
    }
  }
}
