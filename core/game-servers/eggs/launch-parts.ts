import type { Egg } from '../egg.ts';
import type { ServerAssignment } from '../power.ts';
import { variableValues } from './variables.ts';

/**
 * The settings that an instance takes at its start and never after, as texts by JSON pointer. A server that runs waits for a
 * restart where these differ from those of its launch.
 */
export function launchParts(
  egg: Pick<Egg, 'images' | 'variables'>,
  server: Pick<ServerAssignment, 'egg' | 'image' | 'variables' | 'limits' | 'allocation' | 'ports'>,
): Readonly<Record<string, string>> {
  const { disk: _, ...limits } = server.limits;
  const chosen = egg.images.find(({ label }) => label === server.image) ?? egg.images[0];
  const variables = Object.entries(variableValues(egg.variables, server.variables));
  return {
    '/egg': server.egg,
    '/image': chosen?.reference ?? '',
    '/limits': JSON.stringify(limits),
    '/ports': JSON.stringify([server.allocation, server.ports]),
    ...Object.fromEntries(variables.map(([env, value]) => [`/variables/${env}`, value])),
  };
}
