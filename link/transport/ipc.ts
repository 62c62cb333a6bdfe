import { chmod, lstat, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { type AgentConnectOptions, AgentConnection } from './agent-side.ts';
import { AgentConnections } from './control-side.ts';
import type { ServeOptions } from './handling.ts';
import { peerUid } from './peer-uid.ts';
import type { AgentSide, ControlSide } from './transport.ts';

/** The transport of one host: a Unix domain socket, for children of one supervisor and for separate units. */

export interface IpcServer extends ServeOptions {
  /** At most 107 bytes, a limit of the kernel. */
  readonly path: string;
  /** Permissions of the socket file, 0660 by default. They are the authentication where `admit` is missing. */
  readonly mode?: number;
}

const MAX_PATH_BYTES = 107;

export function connectIpc({
  path,
  ...options
}: AgentConnectOptions & { readonly path: string }): AgentSide {
  return new AgentConnection({ ...options, where: path }, () => connect(path));
}

/** Serves agents of this host: those that may open the socket file and that `admit` admits. */
export async function serveIpc({ path, mode, ...options }: IpcServer): Promise<ControlSide> {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new Error(
      `the socket path ${path} has more than ${MAX_PATH_BYTES} bytes, which no system takes: choose a shorter data directory`,
    );
  }
  await removeStaleSocket(path);
  const connections = new AgentConnections(options);
  const server = createServer((socket) => connections.accept(socket, peerUid(socket)));
  await listen(server, path);
  await chmod(path, mode ?? 0o660);
  return {
    call: (agent, call, timeoutMs) => connections.call(agent, call, timeoutMs),
    notify: (notice) => connections.notify(notice),
    admitted: (kind) => connections.admitted(kind),
    recheck: (matches) => connections.recheck(matches),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await connections.close();
      await closed;
    },
  };
}

/** Removes the socket file that a killed server left, if no process answers on it. */
async function removeStaleSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return;
  if (!found.isSocket()) throw new Error(`${path} is there and is no socket: remove it`);
  const answered = await new Promise<boolean>((resolve, reject) => {
    const probe = connect(path);
    probe.on('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') resolve(false);
      else reject(new Error(`cannot use the socket ${path}`, { cause: error }));
    });
  });
  if (answered) throw new Error(`another control plane already serves ${path}`);
  await unlink(path);
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
