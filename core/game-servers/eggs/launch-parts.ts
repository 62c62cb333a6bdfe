import type { Egg } from '../egg.ts';
import type { ServerAssignment } from '../power.ts';
import { type OwnStart, withOwnStart } from './own-start.ts';
import { variableValues } from './variables.ts';

/**
 * The settings that an instance takes at its start and never after, as texts by JSON pointer. A server that runs waits for a
 * restart where these differ from those of its launch.
 */
export function launchParts(
  egg: Pick<Egg, 'images' | 'startup' | 'variables'>,
  server: Pick<
    ServerAssignment,
    'egg' | 'image' | 'variables' | 'limits' | 'allocation' | 'ports' | 'mounts' | keyof OwnStart
  >,
): Readonly<Record<string, string>> {
  const { disk: _d, entries: _e, ...limits } = server.limits;
  const ports = [{ ...server.allocation, protocols: [], variable: null }, ...server.ports];
  const { images } = withOwnStart(egg, server);
  const chosen = images.find(({ label }) => label === server.image) ?? images[0];
  const mounts = server.mounts.map(({ source, target, readOnly }) =>
    [source, target, readOnly ? 'ro' : 'rw'].join(' '),
  );
  const variables = Object.entries(variableValues(egg.variables, server.variables));
  return {
    '/egg': server.egg,
    '/image': chosen?.reference ?? '',
    // A database and a message may have members in another order.
    '/limits': JSON.stringify(Object.entries(limits).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    '/ports': ports
      .map(({ ip, port, protocols, variable }) => [ip, port, ...protocols, variable].join(' '))
      .join(','),
    ...(server.startup !== null && { '/startup': server.startup }),
    ...(mounts.length > 0 && { '/mounts': mounts.join(',') }),
    ...Object.fromEntries(variables.map(([env, value]) => [`/variables/${env}`, value])),
  };
}
