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

/** The owner of a lock, for error messages, and the file that is locked. */
export interface StateLock {
  /** `edge`, `node`. */
  readonly agent: string;
  readonly stateDir: string;
  /** In the state directory; its folder is created if it is missing. */
  readonly path: string;
  readonly timeoutMs?: number;
}

/**
 * Makes this process the only agent of a state directory until it exits: two agents would overwrite each other's state,
 * and undo each other's changes in the kernel or the engine. Throws `StateInUse` after some seconds, and any error of
 * the file system. Without native calls there is no lock.
 */
export async function lockState(lock: StateLock): Promise<void> {
  const { agent, stateDir, path, timeoutMs = TIMEOUT_MS } = lock;
  const flock = openFlock();
  if (flock === null) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Never closed: the lock is the kernel's, and goes with the process. No child inherits it.
  const fd = openSync(path, 'a+', 0o600);
  const deadline = performance.now() + timeoutMs;
  while (flock(fd, LOCK_EX_NB) !== 0) {
    const number = koffi.errno();
    // A file system without locks returns another error.
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
    // The lock holds on a full disk too.
  }
}

/** For the error message; the lock does not depend on it. */
function ownerIn(path: string): string {
  const pid = /^\d{1,10}$/m.exec(readFileSync(path, 'utf8').slice(0, 20))?.[0];
  return pid === undefined ? '' : ` (process ${pid})`;
}

type Flock = (fd: number, operation: number) => number;

/** Returns null if libc cannot be called: another platform, or another kind of libc. */
function openFlock(): Flock | null {
  try {
    return koffi.load('libc.so.6').func('int flock(int fd, int operation)') as Flock;
  } catch {
    return null;
  }
}
