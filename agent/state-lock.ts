import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import koffi from 'koffi';

/** include/uapi/asm-generic/fcntl.h: exclusive, and without waiting. */
const LOCK_EX_NB = 2 | 4;
const EWOULDBLOCK = 11;
const TRY_AGAIN_MS = 50;
/** An agent that was killed may still be in a transaction of the kernel, which ends first. */
const TIMEOUT_MS = 5_000;

/** Another agent works on this state directory. */
export class StateInUse extends Error {
  override readonly name = 'StateInUse';
}

/** Whose lock, in words of people, and the file that is locked. */
export interface StateLock {
  /** `edge`, `node`. */
  readonly agent: string;
  readonly stateDir: string;
  /** In the state directory; its folder is made where it is missing. */
  readonly path: string;
  readonly patienceMs?: number;
}

/**
 * Makes this process the only agent of a state directory for as long as it lives, however it ends: two would write
 * over each other's state, and undo each other in the kernel or in the engine. Throws `StateInUse` after some seconds,
 * and what the file system says (then there is no lock, and none without native calls).
 */
export async function lockState(lock: StateLock): Promise<void> {
  const { agent, stateDir, path, patienceMs = TIMEOUT_MS } = lock;
  const flock = openFlock();
  if (flock === null) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Never closed: the lock is the kernel's, and goes with the process. No child inherits it.
  const fd = openSync(path, 'a+', 0o600);
  const deadline = performance.now() + patienceMs;
  while (flock(fd, LOCK_EX_NB) !== 0) {
    const number = koffi.errno();
    // A file system that has no locks says something else.
    if (number !== EWOULDBLOCK) throw new Error(`flock: errno ${number}`);
    if (performance.now() > deadline) {
      closeSync(fd);
      throw new StateInUse(`another ${agent}${ownerIn(path)} works on ${stateDir}`);
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

type Flock = (fd: number, operation: number) => number;

/** null: code of this host cannot be called (another platform, a libc of another kind). */
function openFlock(): Flock | null {
  try {
    return koffi.load('libc.so.6').func('int flock(int fd, int operation)') as Flock;
  } catch {
    return null;
  }
}
