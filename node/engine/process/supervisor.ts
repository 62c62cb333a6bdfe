import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, closeSync, constants, openSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { EngineError, type InstanceSpec } from '../engine.ts';
import type { FolderOwner } from '../folder-owner.ts';
import type { InstanceFolder } from './instance-folder.ts';

/**
 * The parent of the game, which outlives the agent: records its own pid and the game's exit code. It leads the process
 * group and ignores the signals that the group receives. Its arguments are the program and the program's arguments, which
 * the shell does not interpret. File sizes are not limited, because the limit would apply to the output too.
 */
const SUPERVISOR = `trap : TERM INT HUP QUIT; ulimit -c 0
echo "pid $$" >&3; "$@" 3>&- 4>&-; echo "exit $?" >&3`;

/**
 * The folder of a server by a name that a program may use: it starts in the folder, whose parents are closed to it.
 */
const OWN_FOLDER = '/proc/self/cwd';

/**
 * Starts the program of an instance as the owner of its folder, detached from the agent. It is in the folder before it is
 * another account.
 */
export async function startSupervisor(
  folder: InstanceFolder,
  spec: InstanceSpec,
  command: readonly string[],
  owner: FolderOwner,
): Promise<void> {
  const { O_RDWR, O_WRONLY, O_APPEND } = constants;
  const opened: number[] = [];
  const open = (...[path, flags]: [string, number]): number => {
    const descriptor = openSync(path, flags);
    opened.push(descriptor);
    return descriptor;
  };
  try {
    writeFileSync(folder.path('record'), `start ${Date.now()}\n`);
    const output = open(folder.path('out'), O_WRONLY | O_APPEND);
    const child = spawn('/bin/sh', ['-c', SUPERVISOR, 'supervisor', ...command], {
      cwd: spec.folder,
      env: { PATH: PATHS, HOME: OWN_FOLDER, ...spec.env },
      detached: true,
      ...(process.getuid?.() === 0 ? owner : {}),
      stdio: [
        // Opened for reading and writing, so that the input does not end with the agent.
        open(folder.path('in'), O_RDWR),
        output,
        output,
        open(folder.path('record'), O_WRONLY | O_APPEND),
        open(folder.path('alive'), O_RDWR),
      ],
    });
    await once(child, 'spawn');
    child.unref();
    // The supervisor writes its pid too, in case the agent is killed before this line.
    appendFileSync(folder.path('record'), `pid ${child.pid}\n`);
  } catch (error) {
    writeFileSync(folder.path('record'), '');
    throw new EngineError('refused', 'The program of the server cannot be started.', {
      cause: error,
    });
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

const PATHS = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games';

/** Calls back once when the supervisor has exited, also if it has already. The returned function cancels that. */
export function watchSupervisor(folder: InstanceFolder, onEnd: () => void): () => void {
  const descriptor = openSync(folder.path('alive'), constants.O_RDONLY | constants.O_NONBLOCK);
  // epoll reports the end of a FIFO only to a reader that has had a writer since it opened. A supervisor that exited
  // before that gave none.
  closeSync(openSync(folder.path('alive'), constants.O_WRONLY | constants.O_NONBLOCK));
  const pipe = new Socket({ fd: descriptor, readable: true, writable: false });
  let stopped = false;
  // End of file: the supervisor has closed the other end.
  pipe.once('close', () => {
    if (!stopped) onEnd();
  });
  pipe.on('error', () => pipe.destroy());
  pipe.resume();
  return () => {
    stopped = true;
    pipe.destroy();
  };
}

/** Signals the whole process group; no-op when it is gone. */
export function signalGroup(pid: number, signal: string): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH')
      throw new EngineError('refused', `The signal ${signal} cannot be sent.`, { cause: error });
  }
}
