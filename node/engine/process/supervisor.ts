import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, closeSync, constants, openSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { EngineError, type InstanceSpec } from '../engine.ts';
import type { FolderOwner } from '../folder-owner.ts';
import type { Home } from './instance-folder.ts';

/**
 * Stands over the process and outlives the agent: records its own pid, and the exit code. It leads the process group,
 * so that a signal to the group comes to it as well: it takes none. Its arguments are the program and its own;
 * nothing of them is read by the shell. No limit of files: it would be one of the output as well, and end the game.
 */
const KEEPER = `trap : TERM INT HUP QUIT; ulimit -c 0
echo "pid $$" >&3; "$@" 3>&- 4>&-; echo "exit $?" >&3`;

/** Starts the program of an instance as the owner of its folder. It belongs to nobody from then on. */
export async function startKeeper(
  home: Home,
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
    writeFileSync(home.path('record'), `start ${Date.now()}\n`);
    const output = open(home.path('out'), O_WRONLY | O_APPEND);
    const child = spawn('/bin/sh', ['-c', KEEPER, 'keeper', ...command], {
      cwd: spec.folder,
      env: { PATH: PATHS, HOME: spec.folder, ...spec.env },
      detached: true,
      ...(process.getuid?.() === 0 ? owner : {}),
      stdio: [
        // Open for both, so that the input does not end with the agent.
        open(home.path('in'), O_RDWR),
        output,
        output,
        open(home.path('record'), O_WRONLY | O_APPEND),
        open(home.path('alive'), O_RDWR),
      ],
    });
    await once(child, 'spawn');
    child.unref();
    // The keeper writes it as well, later: an agent that is killed here finds it all the same.
    appendFileSync(home.path('record'), `pid ${child.pid}\n`);
  } catch (error) {
    writeFileSync(home.path('record'), '');
    throw new EngineError('refused', 'The program of the server cannot be started.', {
      cause: error,
    });
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

const PATHS = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games';

/** Calls back once when the keeper is gone, at once when it is already. The returned function takes it back. */
export function watchKeeper(home: Home, onEnd: () => void): () => void {
  const descriptor = openSync(home.path('alive'), constants.O_RDONLY | constants.O_NONBLOCK);
  const pipe = new Socket({ fd: descriptor, readable: true, writable: false });
  let stopped = false;
  // The end of the file: nobody holds the other side any more.
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

/** To the whole group; no-op when it is gone. */
export function signalGroup(pid: number, signal: string): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH')
      throw new EngineError('refused', `The signal ${signal} cannot be sent.`, { cause: error });
  }
}
