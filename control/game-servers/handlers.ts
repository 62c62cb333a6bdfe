import { SEES } from '@portcullis/core/access/server-rights.ts';
import { type Caller, keyActor, rightsOn } from '../access/index.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import { notSeen } from '../http/operations/not-found.ts';
import { conflict, Problem } from '../problem.ts';
import { loadActivity, recordActivity } from './activity.ts';
import { historyView, loadHistory } from './history.ts';
import { instruct } from './instruct.ts';
import { readLines, readLive, readProblem } from './live.ts';
import type { NodeCalls } from './nodes/calls.ts';
import { reinstallServer } from './reinstall.ts';
import { requireServer } from './require-server.ts';
import { listServers, listStatuses, loadBuild } from './store.ts';
import { buildView, consoleView, detailView, listedView, statusView } from './views.ts';

/** Operations 7 to 10 of the interface, and the x1 operations on game servers. */
export type GameServerHandlers = Pick<
  Handlers,
  | 'listGameServers'
  | 'readGameServer'
  | 'sendPowerSignal'
  | 'sendCommand'
  | 'listGameServerStatuses'
  | 'readGameServerBuild'
  | 'readGameServerHistory'
  | 'readConsole'
  | 'reinstallGameServer'
  | 'listServerActivity'
>;

const DEFAULT_LINES = 100;

export function createHandlers(calls: NodeCalls): GameServerHandlers {
  return {
    ...createConsoleHandlers(calls),
    async listGameServers(call, db) {
      const servers = await listServers(db, call.by);
      return { status: 200, body: { data: servers.map(listedView) } };
    },
    async readGameServer(call, db) {
      const server = await requireServer(db, call, SEES);
      const live = await readLive(calls, server);
      return { status: 200, body: { data: detailView(server, live) } };
    },
    async sendPowerSignal(call, db) {
      return instruct(calls, db, call, { kind: 'power', signal: call.body.signal });
    },
    async sendCommand(call, db) {
      return instruct(calls, db, call, { kind: 'command', command: call.body.command });
    },
    async listGameServerStatuses(call, db) {
      const servers = await listStatuses(db, call.by);
      return { status: 200, body: { data: servers.map(statusView) } };
    },
    async readGameServerBuild(call, db) {
      const build = await loadBuild(db, call.by, call.params.slice);
      if (build === null) throw notSeen();
      const problem = await readProblem(calls, build);
      return {
        status: 200,
        body: { data: buildView(build, problem, rightsOn(call.by, build.uuid)) },
      };
    },
    async readGameServerHistory(call, db) {
      const server = await requireServer(db, call, SEES);
      return { status: 200, body: historyView(await loadHistory(db, server.uuid)) };
    },
    reinstallGameServer: reinstall,
  };
}

const reinstall: Handlers['reinstallGameServer'] = async (call, tx) => {
  const server = await requireServer(tx, call, 'settings.reinstall');
  if (server.suspended)
    throw conflict(`${server.name} is suspended: its operator alone installs it again.`);
  const { files = 'keep' } = call.query;
  if (files !== 'keep') requireDeletion(call.by, server.uuid);
  const epoch = await reinstallServer(tx, server.uuid, keyActor(call), files);
  if (epoch === null) throw notSeen();
  await recordActivity(tx, call, 'reinstall', files === 'keep' ? {} : { files });
  const message = `The server ${server.name} is installed again.`;
  return { status: 200, body: { data: { uuid: server.uuid, epoch }, message } };
};

/** One who may install a server again may not therefore delete its files. */
function requireDeletion(by: Caller, uuid: string): void {
  if (rightsOn(by, uuid).has('file.delete')) return;
  const detail =
    'Files that are not kept need the right file.delete too, a key the ability game-servers.files. With files=keep they stay.';
  throw new Problem('ability_missing', detail);
}

/** The operations on what a server wrote and on what was done with it. */
function createConsoleHandlers(
  calls: NodeCalls,
): Pick<Handlers, 'readConsole' | 'listServerActivity'> {
  return {
    async readConsole(call, db) {
      const server = await requireServer(db, call, 'control.console');
      const { lines: last = DEFAULT_LINES, colours = false } = call.query;
      const console = await readLines(calls, server, { last, colours });
      return { status: 200, body: { data: consoleView(console) } };
    },
    async listServerActivity(call, db) {
      const { uuid } = await requireServer(db, call, 'activity.read');
      return { status: 200, body: await loadActivity(db, uuid, call.query) };
    },
  };
}
