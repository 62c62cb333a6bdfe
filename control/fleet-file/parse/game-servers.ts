import type { ServerObject } from '@portcullis/contract/schemas/declared/game-server.ts';
import type { DesiredOrganisation } from '../desired.ts';
import type { Scope } from './scope.ts';

/** Refuses servers that name an organisation or a service that the file does not have. */
export function checkServers(
  servers: readonly ServerObject[],
  organisations: readonly DesiredOrganisation[],
  scope: Scope,
): void {
  for (const [index, { organisation, service }] of servers.entries()) {
    const itemScope = scope.in(index);
    const found = organisations.find(({ slug }) => slug === organisation);
    if (found === undefined) {
      itemScope.in('organisation').refuse(`There is no organisation ${organisation} in this file.`);
    } else if (!found.services.some(({ id }) => id === service)) {
      itemScope.in('service').refuse(`${organisation} has no service ${service}.`);
    }
  }
}
