import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { errno, libc, NativeUnavailable, SystemError } from '../kernel/native.ts';

const NAME = 'agent.lock';
/** include/uapi/asm-generic/fcntl.h: exclusive, and without waiting. */
const LOCK_EX_NB = 2 | 4;
const EWOULDBLOCK = 11;
const TRY_AGAIN_MS = 50;
/** An agent that was killed may still be in a transaction of the kernel, which ends first. */
const PATIENCE_MS = 5_000;

/** Another agent works on this state directory. */
export class StateInUse extends Error {
  override readonly name = 'StateInUse';
}

/**
 * Makes this process the only agent of a state directory for as long as it lives, however it ends: two would write
 * over each other's state, and undo each other in the kernel. Throws `StateInUse` after some seconds, and what the
 * file system says (then there is no lock, and none without native calls).
 */
export async function lockState(stateDir: string, patienceMs = PATIENCE_MS): Promise<void> {
  const flock = openFlock();
  if (flock === null) return;
  mkdirSync(join(stateDir, 'enforced'), { recursive: true, mode: 0o700 });
  // Never closed: the lock is the kernel's, and goes with the process. Not beside the switches, which are watched.
  const path = join(stateDir, 'enforced', NAME);
  const fd = openSync(path, 'a+', 0o600);
  const deadline = performance.now() + patienceMs;
  while (flock(fd, LOCK_EX_NB) !== 0) {
    // A file system that has no locks says something else.
    const number = errno();
    if (number !== EWOULDBLOCK) throw new SystemError('flock', number);
    if (performance.now() > deadline) {
      closeSync(fd);
      throw new StateInUse(`another edge${ownerIn(path)} works on ${stateDir}`);
    }
    await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
  }
  try {
    ftruncateSync(fd);
    writeSync(fd, `${process.pid}\n`);
  } catch {
    // A disk without room takes the lock all the same.
  }
}

/** For people; the lock does not depend on it. */
function ownerIn(path: string): string {
  const pid = /^\d{1,10}$/m.exec(readFileSync(path, 'utf8').slice(0, 20))?.[0];
  return pid === undefined ? '' : ` (process ${pid})`;
}

function openFlock(): ((fd: number, operation: number) => number) | null {
  try {
    return libc().func('int flock(int fd, int operation)') as (fd: number, op: number) => number;
  } catch (error) {
    if (error instanceof NativeUnavailable) return null;
    throw error;
  }
}
