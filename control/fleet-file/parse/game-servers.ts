import type { PatternCompiler } from '@portcullis/core/game-servers/eggs/rules.ts';
import { checkVariables, isReserved } from '@portcullis/core/game-servers/eggs/variables.ts';
import type { ServerPort } from '@portcullis/core/game-servers/power.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import type { FoundEgg, GameServerContent } from '../../declared/game-servers.ts';
import type { DesiredGameServer, DesiredOrganisation } from '../desired.ts';
import type { EggFile } from '../read/egg-files.ts';
import { PRIMARY } from './named-ports.ts';
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

/** The text without what only a file says by name. */
export type ServerText = Omit<GameServerText, 'organisation'>;

export function parseGameServers(
  text: FleetText,
  organisations: readonly DesiredOrganisation[],
  eggs: LoadedEggs,
  file: Scope,
): DesiredGameServer[] {
  const scope = file.in('game_servers');
  const servers = text.game_servers ?? [];
  scope.unique(servers, ({ uuid }) => uuid.toLowerCase(), 'uuid', 'The server');
  refuseSharedPorts(servers, scope);
  const nodes = new Set(text.nodes?.map(({ name }) => name));
  return servers.flatMap((server, index) => {
    const itemScope = scope.in(index);
    if (!UUID.test(server.uuid)) itemScope.in('uuid').refuse('This is no uuid.');
    if (!nodes.has(server.node)) {
      itemScope.in('node').refuse(`There is no node ${server.node} in this file.`);
    }
    checkService(server, organisations, itemScope);
    const { organisation } = server;
    const found = parseGameServer(server, eggs, itemScope);
    return found === null ? [] : [{ at: itemScope.at, organisation, ...found }];
  });
}

/** A server by itself: what it refers to is not looked up. Null: refused. */
export function parseGameServer(
  server: ServerText,
  eggs: LoadedEggs,
  scope: Scope,
): GameServerContent | null {
  const egg = parseEggOf(server, eggs, scope);
  const bound = parseAllocations(server, scope);
  return egg === null || bound === null ? null : contentOf(server, egg, bound, scope);
}

type Bound = Pick<DesiredGameServer, 'ip' | 'port' | 'ports'>;

/** Null: refused. */
function parseAllocations(server: ServerText, scope: Scope): Bound | null {
  const { allocation, allocations } = server;
  const [first] = allocations ?? (allocation === undefined ? [] : [allocation]);
  if (first === undefined || (allocation !== undefined && allocations !== undefined)) {
    scope.refuse('A server has either allocation or allocations.');
    return null;
  }
  if (allocations === undefined) {
    const ip = scope.in('allocation', 'ip').host(first.ip);
    return ip === null ? null : { ip, port: first.port, ports: [] };
  }
  const listed = scope.in('allocations');
  listed.unique(allocations, ({ ip, port, name }) => name ?? `${ip} ${port}`, 'name', 'The name');
  listed.unique(
    allocations,
    ({ ip, port, variable }) => variable ?? `${ip} ${port}`,
    'variable',
    'The variable',
  );
  const ports = allocations.flatMap((one, index): ServerPort[] => {
    const ip = listed.in(index, 'ip').host(one.ip);
    if (isReserved(one.variable ?? '')) {
      listed.in(index, 'variable').refuse(`${one.variable} is set for every server.`);
    }
    const { port, protocols = ['tcp', 'udp'], variable = null, name = null } = one;
    if (name === PRIMARY && index > 0) {
      listed.in(index, 'name').refuse(`${PRIMARY} is the name of the first one.`);
    }
    return ip === null ? [] : [{ ip, port, protocols, variable, name }];
  });
  const [primary] = ports;
  return primary === undefined ? null : { ip: primary.ip, port: primary.port, ports };
}

function parseOpening(
  { open_while_running: open = false }: ServerText,
  { ports }: Bound,
  scope: Scope,
): Pick<DesiredGameServer, 'openWhileRunning' | 'openPorts'> {
  if (typeof open === 'boolean') return { openWhileRunning: open, openPorts: null };
  scope.unique(open, String, '', 'The port');
  const known = [PRIMARY, ...ports.flatMap(({ name }) => name ?? [])];
  for (const [index, name] of open.entries()) {
    if (known.includes(name)) continue;
    const names = [...new Set(known)].join(', ');
    scope.in(index).refuse(`The server has no port "${name}"; it has ${names}.`);
  }
  return { openWhileRunning: true, openPorts: open.toSorted() };
}

function refuseSharedPorts(servers: readonly GameServerText[], scope: Scope): void {
  const seen = new Set<string>();
  for (const [index, { allocation, allocations = [] }] of servers.entries()) {
    for (const { ip, port } of allocation === undefined ? allocations : [allocation]) {
      const bound = `${canonicalAddress(ip) ?? ip} port ${port}`;
      if (seen.has(bound)) {
        const place = allocation === undefined ? 'allocations' : 'allocation';
        scope.in(index, place).refuse(`The allocation ${bound} is here twice.`);
      }
      seen.add(bound);
    }
  }
}

function contentOf(
  text: ServerText,
  egg: FoundEgg,
  bound: Bound,
  itemScope: Scope,
): GameServerContent {
  const { service: serviceId, name, node, limits, image } = text;
  return {
    uuid: text.uuid.toLowerCase(),
    serviceId,
    name,
    node,
    eggName: text.egg,
    egg,
    image: image ?? null,
    variables: textsOf(text.variables ?? {}),
    limits: { ...limits },
    ...bound,
    ...parseOpening(text, bound, itemScope.in('open_while_running')),
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

function parseEggOf(text: ServerText, { eggs, compile }: LoadedEggs, itemScope: Scope) {
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
