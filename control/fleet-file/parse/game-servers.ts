import type { PatternCompiler } from '@portcullis/core/game-servers/eggs/rules.ts';
import { checkVariables } from '@portcullis/core/game-servers/eggs/variables.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import type { DesiredGameServer, DesiredNode, DesiredOrganisation, FoundEgg } from '../desired.ts';
import type { EggFile } from '../read/egg-files.ts';
import type { Scope } from './scope.ts';
import type { FleetText, GameServerText } from '../schema/schema.ts';

/** The eggs that a file names. */
export interface LoadedEggs {
  readonly eggs: ReadonlyMap<string, EggFile>;
  readonly compile: PatternCompiler | null;
}
export const NO_EGGS: LoadedEggs = { eggs: new Map(), compile: null };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const DEFAULT_WITHIN_SECONDS = 60;

export function parseNodes(entries: NonNullable<FleetText['nodes']>, scope: Scope): DesiredNode[] {
  scope.unique(entries, ({ name }) => name, 'name', 'The node');
  return entries.map(({ name }, index) => ({ name, at: scope.in(index).at }));
}

export function parseGameServers(
  text: FleetText,
  organisations: readonly DesiredOrganisation[],
  eggs: LoadedEggs,
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
    const itemScope = scope.in(index);
    if (!UUID.test(server.uuid)) itemScope.in('uuid').refuse('This is no uuid.');
    if (!nodes.has(server.node)) {
      itemScope.in('node').refuse(`There is no node ${server.node} in this file.`);
    }
    checkService(server, organisations, itemScope);
    const egg = parseEggOf(server, eggs, itemScope);
    const ip = itemScope.in('allocation', 'ip').host(server.allocation.ip);
    return egg === null || ip === null ? [] : [parseGameServer(server, egg, ip, itemScope)];
  });
}

function parseGameServer(
  text: GameServerText,
  egg: FoundEgg,
  ip: string,
  itemScope: Scope,
): DesiredGameServer {
  const { organisation, service: serviceId, name, node, limits, image } = text;
  return {
    at: itemScope.at,
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
  itemScope: Scope,
): void {
  const found = organisations.find(({ slug }) => slug === organisation);
  if (found === undefined) {
    itemScope.in('organisation').refuse(`There is no organisation ${organisation} in this file.`);
  } else if (!found.services.some(({ id }) => id === service)) {
    itemScope.in('service').refuse(`${organisation} has no service ${service}.`);
  }
}

function parseEggOf(text: GameServerText, { eggs, compile }: LoadedEggs, itemScope: Scope) {
  const file = eggs.get(text.egg);
  if (file === undefined) {
    itemScope.in('egg').refuse(`There is no egg ${text.egg}.`);
    return null;
  }
  if (!file.ok) {
    itemScope.in('egg').refuse(file.reason);
    return null;
  }
  const { egg } = file.found;
  const labels = egg.images.map(({ label }) => label);
  if (text.image !== undefined && !labels.includes(text.image)) {
    itemScope.in('image').refuse(`The egg has no such image; there are ${labels.join(', ')}.`);
  }
  for (const { env, detail } of checkVariables(
    egg.variables,
    textsOf(text.variables ?? {}),
    compile,
  )) {
    const given = Object.hasOwn(text.variables ?? {}, env);
    (given ? itemScope.in('variables', env) : itemScope.in('egg')).refuse(detail);
  }
  return file.found;
}

/** Variables as text, because YAML reads `true` and `25565` as other types. */
function textsOf(variables: Readonly<Record<string, string | number | boolean>>) {
  return Object.fromEntries(Object.entries(variables).map(([env, value]) => [env, String(value)]));
}
