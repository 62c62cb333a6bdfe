import type { ServerPort } from '@portcullis/core/game-servers/power.ts';
import type { DesiredGameServer } from '../desired.ts';
import type {
  CurrentGameServer,
  GameServerContent,
  ServerMove,
} from '../../declared/game-servers.ts';
import { describeDifferences, PlanDraft, planMatching } from './draft.ts';

export function planGameServers(draft: PlanDraft): void {
  const { file, state } = draft;
  refuseTaken(draft);
  planMatching(draft, {
    wanted: file.gameServers,
    rows: state.gameServers,
    subjectOf: ({ uuid }) => `server ${uuid}`,
    wantedKey: ({ uuid }) => uuid,
    rowKey: ({ uuid }) => uuid,
    save(server, row) {
      const holder = row && draft.slugOf(row.organisationId);
      if (row === undefined) planCreate(draft, server);
      else if (holder !== server.organisation) {
        const message = `The server ${server.uuid} is ${holder}'s, and its files are: it is not passed on. Give the new one a uuid of its own.`;
        draft.refuse(server.at, message);
      } else planUpdate(draft, row, server);
    },
    remove: (row) => planRemoval(draft, row),
  });
  for (const { eggName, egg } of file.gameServers) {
    for (const note of egg.notes) draft.note(`egg ${eggName}: ${note}`);
  }
  noteUnknownServers(draft);
}

/** Refuses an allocation of a portal server, which the parser of the file does not see. */
function refuseTaken(draft: PlanDraft): void {
  const portal = draft.state.gameServers.filter(({ owner }) => owner === 'portal');
  const taken = new Map(
    portal.flatMap((row) => allPorts(row).map((bound) => [bound, row] as const)),
  );
  for (const server of draft.file.gameServers) {
    for (const bound of allPorts(server)) {
      const other = taken.get(bound);
      if (other === undefined || other.uuid === server.uuid) continue;
      draft.refuse(server.at, `${bound} is that of ${other.name}, which was made by hand.`);
    }
  }
}

function allPorts(server: Pick<DesiredGameServer, 'ip' | 'port' | 'ports'>): string[] {
  return [...new Set([server, ...server.ports].map(({ ip, port }) => `${ip} port ${port}`))];
}

function planCreate(draft: PlanDraft, server: DesiredGameServer): void {
  const words = `${server.eggName} on ${server.node}, ${server.ip} port ${server.port}`;
  draft.add({ do: 'server.create', sign: '+', words, server, ...naming(server) }, server.at);
}

/** Describes what differs, in words ('' for nothing), and what that means for its place. */
export function differenceOf(
  row: CurrentGameServer,
  server: GameServerContent,
): { readonly words: string; readonly move: ServerMove } {
  const words = [
    describeDifferences(currentFields(row), desiredFields(server)),
    describeVariables(row.variables, server.variables),
    row.eggName === server.eggName && row.eggDigest !== server.egg.digest ? 'the egg changed' : '',
    // Its container has its ports from its start on.
    row.provisioned && hasOtherPorts(row, server)
      ? 'a server that runs takes it at its next start'
      : '',
  ]
    .filter((part) => part !== '')
    .join(', ');
  const moved = hasOtherPorts(row, server) || row.serviceId !== server.serviceId;
  return { words, move: { rebuild: row.node !== server.node, moved } };
}

function planUpdate(draft: PlanDraft, row: CurrentGameServer, server: DesiredGameServer): void {
  const { words, move } = differenceOf(row, server);
  if (words === '') return;
  if (move.rebuild && row.provisioned) {
    const message = `${row.name} would be built anew on ${server.node}, without its files: those stay on ${row.node}.`;
    draft.lose(server.at, message);
  }
  const change = { server, move, ...naming(server) };
  draft.add({ do: 'server.update', sign: '~', words, ...change }, server.at);
}

function hasOtherPorts(row: CurrentGameServer, { ip, port, ports }: GameServerContent): boolean {
  return row.ip !== ip || row.port !== port || describePorts(row.ports) !== describePorts(ports);
}

function describeOpening({
  openWhileRunning,
  openPorts,
}: Pick<GameServerContent, 'openWhileRunning' | 'openPorts'>): boolean | string {
  return openPorts === null ? openWhileRunning : openPorts.join(', ');
}

function describePorts(ports: readonly ServerPort[]): string {
  return ports
    .map(({ ip, port, protocols, variable, name }) =>
      [ip, port, protocols.join('+'), variable ?? '-', name ?? '-'].join(' '),
    )
    .join('; ');
}

function planRemoval(draft: PlanDraft, row: CurrentGameServer): void {
  const { uuid, name, node, provisioned } = row;
  const organisation = draft.slugOf(row.organisationId);
  if (provisioned) {
    const message = `${name} (${uuid}) of ${organisation} is not in the file any more: its node would stop it for good, and keep its files.`;
    draft.lose(PlanDraft.fileStart, message);
  }
  const words = provisioned ? `its files stay on ${node}` : '';
  draft.add({ do: 'server.delete', sign: '-', words, uuid, ...naming({ name, organisation }) });
}

function naming({ name, organisation }: Pick<DesiredGameServer, 'name' | 'organisation'>) {
  return { subject: `server ${name} (${organisation})`, organisation };
}

function currentFields(row: CurrentGameServer) {
  const { name, serviceId, node, eggName, image, memory, cpu, disk, ip, port, ports } = row;
  return {
    name,
    service: serviceId,
    node,
    egg: eggName,
    image,
    memory,
    cpu,
    disk,
    ip,
    port,
    ports: describePorts(ports),
    open_while_running: describeOpening(row),
    suspended: row.suspended,
    crash_restart: row.crashRestart,
    crash_within_ms: row.crashWithinMs,
  };
}

function desiredFields(server: GameServerContent): ReturnType<typeof currentFields> {
  const { name, serviceId, node, eggName, image, limits, ip, port, ports, crashes } = server;
  return {
    name,
    service: serviceId,
    node,
    egg: eggName,
    image,
    ...limits,
    ip,
    port,
    ports: describePorts(ports),
    open_while_running: describeOpening(server),
    suspended: server.suspended,
    crash_restart: crashes.restart,
    crash_within_ms: crashes.withinMs,
  };
}

/** Names the variables that differ, without their values: some are passwords of a game. */
function describeVariables(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): string {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((env) => before[env] !== after[env]);
  return changed.length === 0 ? '' : `variables ${changed.toSorted().join(', ')}`;
}

/** Notes servers that a key names and that do not exist: a later file may create them, but most are mistyped. */
function noteUnknownServers(draft: PlanDraft): void {
  const { file, state } = draft;
  const portal = state.gameServers.filter(({ owner }) => owner === 'portal');
  for (const { slug, keys } of file.organisations) {
    const known = new Set([
      ...file.gameServers.filter((one) => one.organisation === slug).map(({ uuid }) => uuid),
      ...portal.filter((row) => draft.slugOf(row.organisationId) === slug).map(({ uuid }) => uuid),
    ]);
    for (const { name, servers, managedServers } of keys) {
      for (const uuid of new Set([...(servers ?? []), ...(managedServers ?? [])])) {
        if (known.has(uuid)) continue;
        draft.note(`key ${name} (${slug}): there is no server ${uuid} of ${slug}`);
      }
    }
  }
}
