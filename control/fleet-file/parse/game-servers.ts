import type { PatternCompiler } from '@portcullis/core/game-servers/eggs/rules.ts';
import { checkVariables } from '@portcullis/core/game-servers/eggs/variables.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import type { DesiredGameServer, DesiredNode, DesiredOrganisation, FoundEgg } from '../desired.ts';
import type { EggFile } from '../read/egg-files.ts';
import type { Scope } from './scope.ts';
import type { FleetText, GameServerText } from '../schema/schema.ts';

/** The eggs that a file names, read already. */
export interface EggsAtHand {
  readonly eggs: ReadonlyMap<string, EggFile>;
  readonly compile: PatternCompiler | null;
}
export const NO_EGGS: EggsAtHand = { eggs: new Map(), compile: null };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const DEFAULT_WITHIN_SECONDS = 60;

export function parseNodes(entries: NonNullable<FleetText['nodes']>, scope: Scope): DesiredNode[] {
  scope.unique(entries, ({ name }) => name, 'name', 'The node');
  return entries.map(({ name }, index) => ({ name, at: scope.in(index).at }));
}

export function parseGameServers(
  text: FleetText,
  organisations: readonly DesiredOrganisation[],
  eggs: EggsAtHand,
  file: Scope,
): DesiredGameServer[] {
  const scope = file.in('game_servers');
  const servers = text.game_servers ?? [];
  scope.unique(servers, ({ uuid }) => uuid.toLowerCase(), 'uuid', 'The server');
  const bound = ({ allocation: { ip, port } }: GameServerText) =>
    `${canonicalAddress(ip) ?? ip} port ${port}`;
  scope.unique(servers, bound, 'allocation', 'The allocation');
  const nodes = new Set(text.nodes?.map(({ name }) => name));
  return servers.flatMap((server, index) => {
    const place = scope.in(index);
    if (!UUID.test(server.uuid)) place.in('uuid').refuse('This is no uuid.');
    if (!nodes.has(server.node)) {
      place.in('node').refuse(`There is no node ${server.node} in this file.`);
    }
    checkService(server, organisations, place);
    const egg = parseEggOf(server, eggs, place);
    const ip = place.in('allocation', 'ip').host(server.allocation.ip);
    return egg === null || ip === null ? [] : [parseGameServer(server, egg, ip, place)];
  });
}

function parseGameServer(
  text: GameServerText,
  egg: FoundEgg,
  ip: string,
  place: Scope,
): DesiredGameServer {
  const { organisation, service: serviceId, name, node, limits, image } = text;
  return {
    at: place.at,
    uuid: text.uuid.toLowerCase(),
    organisation,
    serviceId,
    name,
    node,
    eggName: text.egg,
    egg,
    image: image ?? null,
    variables: textsOf(text.variables ?? {}),
    limits: { ...limits },
    ip,
    port: text.allocation.port,
    suspended: text.suspended ?? false,
    crashes: {
      restart: text.crashes?.restart ?? true,
      withinMs: (text.crashes?.within_seconds ?? DEFAULT_WITHIN_SECONDS) * 1_000,
    },
  };
}

function checkService(
  { organisation, service }: GameServerText,
  organisations: readonly DesiredOrganisation[],
  place: Scope,
): void {
  const found = organisations.find(({ slug }) => slug === organisation);
  if (found === undefined) {
    place.in('organisation').refuse(`There is no organisation ${organisation} in this file.`);
  } else if (!found.services.some(({ id }) => id === service)) {
    place.in('service').refuse(`${organisation} has no service ${service}.`);
  }
}

function parseEggOf(text: GameServerText, { eggs, compile }: EggsAtHand, place: Scope) {
  const file = eggs.get(text.egg);
  if (file === undefined) {
    place.in('egg').refuse(`There is no egg ${text.egg} at hand.`);
    return null;
  }
  if (!file.ok) {
    place.in('egg').refuse(file.reason);
    return null;
  }
  const { egg } = file.found;
  const labels = egg.images.map(({ label }) => label);
  if (text.image !== undefined && !labels.includes(text.image)) {
    place.in('image').refuse(`The egg has no such image; there are ${labels.join(', ')}.`);
  }
  for (const { env, detail } of checkVariables(
    egg.variables,
    textsOf(text.variables ?? {}),
    compile,
  )) {
    const given = Object.hasOwn(text.variables ?? {}, env);
    (given ? place.in('variables', env) : place.in('egg')).refuse(detail);
  }
  return file.found;
}

/** As an environment has them; YAML's true and 25565 are what a person means by them. */
function textsOf(variables: Readonly<Record<string, string | number | boolean>>) {
  return Object.fromEntries(Object.entries(variables).map(([env, value]) => [env, String(value)]));
}
