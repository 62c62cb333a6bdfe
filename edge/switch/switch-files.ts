import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { MachineClock } from './machine-clock.ts';

/**
 * How a person takes the edge's hands off a host, and how it does so by itself. Both are files in the
 * agent's state directory, so they hold without control, without the agent, and across kill -9 and restarts:
 *
 *     off.json      while it is there, the agent does not enforce: it removes its table and observes
 *     confirm.json  enforcing is on trial until a deadline; unconfirmed by then, the agent writes off.json
 *
 * A trial ends by the machine's clock since boot, which nobody sets: a wall clock that is put right soon after a start
 * would end it at once, or never. One that a reboot ended is over, for a reboot is how somebody who locked himself out
 * gets back in.
 *
 * A trial that was confirmed stays confirmed over restarts, or an unattended restart would take the
 * protection away. `edgeOn` forgets it: switching on again is a new trial.
 */
const OFF = 'off.json';
const TRIAL = 'confirm.json';

export interface Off {
  readonly reason: string;
}
export interface Trial {
  /** Of which boot the deadline is. */
  readonly boot: string;
  /** By a `MachineClock`. */
  readonly deadlineMs: number;
  readonly confirmed: boolean;
}

/** The state directory cannot be used; `code` is that of the system call, such as `EACCES`. */
export class StateError extends Error {
  override readonly name = 'StateError';
  readonly code: string;
  constructor(stateDir: string, code: string, cause: Error) {
    super(`the state directory ${stateDir} cannot be used`, { cause });
    this.code = code;
  }
}

/** The agent takes its table away within a second, if it runs. */
export function edgeOff(stateDir: string, reason = 'switched off by a person on this host'): void {
  try {
    write(stateDir, OFF, { reason, at: new Date().toISOString() });
  } catch {
    // A full disk has room for an empty file, and whatever it says, somebody put it there.
    inWords(stateDir, () => closeSync(openSync(join(stateDir, OFF), 'a')));
  }
}

/** Enforces again, where enforcing is asked for. */
export function edgeOn(stateDir: string): void {
  inWords(stateDir, () => {
    rmSync(join(stateDir, TRIAL), { force: true });
    rmSync(join(stateDir, OFF), { force: true });
  });
}

/** `none`: no trial runs here. `too_late`: the agent has taken its hands off already. */
export function edgeConfirm(stateDir: string): 'confirmed' | 'none' | 'too_late' {
  if (readOff(stateDir) !== null) return 'too_late';
  const trial = readTrial(stateDir);
  if (trial === null) return 'none';
  write(stateDir, TRIAL, { ...trial, confirmed: true });
  return 'confirmed';
}

export function readOff(stateDir: string): Off | null {
  const text = read(stateDir, OFF);
  if (text === null) return null;
  const value = parseObject(text);
  // Whatever it says, somebody put it there.
  const reason = value?.['reason'];
  return {
    reason: typeof reason === 'string' ? reason.slice(0, 300) : 'switched off on this host',
  };
}

/** A file that cannot be read counts as a trial that ran out: hands off is the safe side. */
export function readTrial(stateDir: string): Trial | null {
  const text = read(stateDir, TRIAL);
  if (text === null) return null;
  const value = parseObject(text);
  const [boot, deadlineMs] = [value?.['boot'], value?.['deadlineMs']];
  const confirmed = value?.['confirmed'] === true;
  const isWhole = typeof boot === 'string' && typeof deadlineMs === 'number';
  return isWhole ? { boot, deadlineMs, confirmed } : { boot: '', deadlineMs: 0, confirmed };
}

/** It was not confirmed, and nobody may confirm it any more. */
export function ranOut({ boot, deadlineMs, confirmed }: Trial, clock: MachineClock): boolean {
  return !confirmed && (boot !== clock.boot || deadlineMs <= clock.nowMs());
}

/** Begins a trial, unless one runs or was confirmed. Called before the first write to the kernel. */
export function beginTrial(stateDir: string, lastsMs: number, clock: MachineClock): Trial {
  const known = readTrial(stateDir);
  if (known !== null) return known;
  const trial: Trial = {
    boot: clock.boot,
    deadlineMs: clock.nowMs() + lastsMs,
    confirmed: false,
  };
  write(stateDir, TRIAL, trial);
  return trial;
}

/** Changes with every switch, also with one that was taken back before anybody looked. */
export function lastTouched(stateDir: string): bigint | null {
  return inWords(
    stateDir,
    () => statSync(stateDir, { bigint: true, throwIfNoEntry: false })?.mtimeNs ?? null,
  );
}

function write(stateDir: string, name: string, content: object): void {
  inWords(stateDir, () => {
    mkdirSync(stateDir, { recursive: true });
    const path = join(stateDir, name);
    const draft = `${path}.${process.pid}`;
    try {
      writeFileSync(draft, `${JSON.stringify(content)}\n`, { flush: true });
      renameSync(draft, path);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
  });
}

function read(stateDir: string, name: string): string | null {
  try {
    return readFileSync(join(stateDir, name), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw asStateError(stateDir, error);
  }
}

function inWords<T>(stateDir: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asStateError(stateDir, error);
  }
}

function asStateError(stateDir: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  return new StateError(stateDir, String(error.code), error);
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
