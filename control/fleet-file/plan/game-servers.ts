import type { DesiredGameServer, FleetFile } from '../desired.ts';
import { countOf, PlanDraft, wordDifferences } from './draft.ts';
import type { FleetState } from '../state/state.ts';
import type { CurrentGameServer } from '../state/game-servers.ts';

export function planNodes(draft: PlanDraft, state: FleetState, file: FleetFile): void {
  const current = new Map(state.nodes.map((row) => [row.name, row]));
  for (const { name, at } of file.nodes) {
    const row = current.get(name);
    current.delete(name);
    if (row?.owner === 'portal') {
      draft.refuse(at, `The node ${name} belongs to the portal; change it there.`);
    } else if (row === undefined) {
      const words = `it is let in once it is enrolled: portcullis nodes enrol ${name}`;
      draft.add(
        { do: 'node.create', sign: '+', subject: `node ${name}`, words, name, organisation: null },
        at,
      );
    }
  }
  for (const { id, name, owner } of current.values()) {
    if (owner === 'portal') continue;
    const left = state.gameServers.filter((one) => one.node === name && one.owner === 'portal');
    if (left.length > 0) {
      const message = `The node ${name} is not in the file, but has ${countOf(left.length, 'server')} of the portal; remove them there first.`;
      draft.refuse(PlanDraft.fileStart, message);
      continue;
    }
    const told = { subject: `node ${name}`, words: '', organisation: null };
    draft.add({ do: 'node.delete', sign: '-', id, ...told });
  }
}

export function planGameServers(draft: PlanDraft, state: FleetState, file: FleetFile): void {
  const slugs = new Map(state.organisations.map(({ id, slug }) => [id, slug]));
  const current = new Map(state.gameServers.map((row) => [row.uuid, row]));
  refuseTaken(draft, state, file);
  for (const server of file.gameServers) {
    const row = current.get(server.uuid);
    current.delete(server.uuid);
    const slug = row && (slugs.get(row.organisationId) ?? '');
    if (row?.owner === 'portal') {
      const message = `The server ${server.uuid} belongs to the portal; change it there.`;
      draft.refuse(server.at, message);
    } else if (row === undefined) planCreate(draft, server);
    else if (slug !== server.organisation) {
      const message = `The server ${server.uuid} is ${slug}'s, and its files are: it is not passed on. Give the new one a uuid of its own.`;
      draft.refuse(server.at, message);
    } else planUpdate(draft, row, server);
    for (const note of server.egg.notes) draft.note(`egg ${server.eggName}: ${note}`);
  }
  for (const row of current.values()) {
    if (row.owner === 'fleet') planDelete(draft, slugs.get(row.organisationId) ?? '', row);
  }
  noteUnknownServers(draft, state, file);
}

/** What the portal has is not in the file, so the file's own check could not see it. */
function refuseTaken(draft: PlanDraft, state: FleetState, file: FleetFile): void {
  const portal = state.gameServers.filter(({ owner }) => owner === 'portal');
  const taken = new Map(portal.map((row) => [`${row.ip} ${row.port}`, row]));
  for (const { ip, port, at, uuid } of file.gameServers) {
    const other = taken.get(`${ip} ${port}`);
    if (other === undefined || other.uuid === uuid) continue;
    draft.refuse(at, `${ip} port ${port} is that of ${other.name}, which belongs to the portal.`);
  }
}

function planCreate(draft: PlanDraft, server: DesiredGameServer): void {
  const words = `${server.eggName} on ${server.node}, ${server.ip} port ${server.port}`;
  draft.add({ do: 'server.create', sign: '+', words, server, ...told(server) }, server.at);
}

function planUpdate(draft: PlanDraft, row: CurrentGameServer, server: DesiredGameServer): void {
  const words = [
    wordDifferences(wordCurrent(row), wordWanted(server)),
    wordVariables(row.variables, server.variables),
    row.eggName === server.eggName && row.eggDigest !== server.egg.digest ? 'the egg changed' : '',
  ].filter((part) => part !== '');
  if (words.length === 0) return;
  const rebuild = row.node !== server.node;
  if (rebuild && row.provisioned) {
    const message = `${row.name} would be built anew on ${server.node}, without its files: those stay on ${row.node}.`;
    draft.orphan(server.at, message);
  }
  const moved =
    row.ip !== server.ip || row.port !== server.port || row.serviceId !== server.serviceId;
  draft.add(
    {
      do: 'server.update',
      sign: '~',
      words: words.join(', '),
      server,
      rebuild,
      moved,
      ...told(server),
    },
    server.at,
  );
}

function planDelete(draft: PlanDraft, slug: string, row: CurrentGameServer): void {
  if (row.provisioned) {
    const message = `${row.name} (${row.uuid}) of ${slug} is not in the file any more: its node would stop it for good, and keep its files.`;
    draft.orphan(PlanDraft.fileStart, message);
  }
  const { uuid } = row;
  const words = row.provisioned ? `its files stay on ${row.node}` : '';
  draft.add({
    do: 'server.delete',
    sign: '-',
    words,
    uuid,
    ...told({ ...row, organisation: slug }),
  });
}

function told({ name, organisation }: Pick<DesiredGameServer, 'name' | 'organisation'>) {
  return { subject: `server ${name} (${organisation})`, organisation };
}

function wordCurrent(row: CurrentGameServer) {
  const { name, serviceId, node, eggName, image, memory, cpu, disk, ip, port, suspended } = row;
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
    suspended,
    crash_restart: row.crashRestart,
    crash_within_ms: row.crashWithinMs,
  };
}

function wordWanted(server: DesiredGameServer): ReturnType<typeof wordCurrent> {
  const { name, serviceId, node, eggName, image, limits, ip, port, suspended, crashes } = server;
  return {
    name,
    service: serviceId,
    node,
    egg: eggName,
    image,
    ...limits,
    ip,
    port,
    suspended,
    crash_restart: crashes.restart,
    crash_within_ms: crashes.withinMs,
  };
}

/** Which differ, without what they are: some are passwords of a game. */
function wordVariables(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): string {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((env) => before[env] !== after[env]);
  return changed.length === 0 ? '' : `variables ${changed.toSorted().join(', ')}`;
}

/** A key may name what is yet to come, and more often names what was mistyped. */
function noteUnknownServers(draft: PlanDraft, state: FleetState, file: FleetFile): void {
  const slugs = new Map(state.organisations.map(({ id, slug }) => [id, slug]));
  const portal = state.gameServers.filter(({ owner }) => owner === 'portal');
  for (const { slug, keys } of file.organisations) {
    const known = new Set([
      ...file.gameServers.filter((one) => one.organisation === slug).map(({ uuid }) => uuid),
      ...portal.filter((row) => slugs.get(row.organisationId) === slug).map(({ uuid }) => uuid),
    ]);
    for (const { name, servers, managedServers } of keys) {
      for (const uuid of new Set([...(servers ?? []), ...(managedServers ?? [])])) {
        if (!known.has(uuid))
          draft.note(`key ${name} (${slug}): there is no server ${uuid} of ${slug}`);
      }
    }
  }
}
