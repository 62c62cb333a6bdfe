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
 * Two marker files in the agent's state directory disable enforcement. They hold without control, without the agent,
 * and across kill -9 and restarts:
 *
 *     off.json      while it exists, the agent removes its table and observes
 *     confirm.json  enforcement is on trial until a deadline; without confirmation the agent then writes off.json
 *
 * A trial is timed by the clock since boot: a correction of the wall clock would end it early or extend it. A reboot
 * ends an unconfirmed trial, because a reboot is how an operator who is locked out gets back in.
 *
 * A confirmed trial stays confirmed across restarts, or an unattended restart would end the protection. Who enables
 * enforcement again has decided: it is confirmed then too, unless a new trial is asked for.
 */
const OFF = 'off.json';
const TRIAL = 'confirm.json';

export interface Disabled {
  readonly reason: string;
}
export interface Trial {
  /** The boot id that the deadline belongs to. */
  readonly boot: string;
  /** In the time of a `MachineClock`. */
  readonly deadlineMs: number;
  readonly confirmed: boolean;
}

/** The state directory cannot be used. `code` is the error code of the system call, such as `EACCES`. */
export class StateError extends Error {
  override readonly name = 'StateError';
  readonly code: string;
  constructor(stateDir: string, code: string, cause: Error) {
    super(`the state directory ${stateDir} cannot be used`, { cause });
    this.code = code;
  }
}

/** Disables enforcement: a running agent removes its table within a second. */
export function edgeOff(stateDir: string, reason = 'disabled by the operator of this host'): void {
  try {
    write(stateDir, OFF, { reason, at: new Date().toISOString() });
  } catch {
    // An empty file fits on a full disk, and its presence alone disables.
    withStateError(stateDir, () => closeSync(openSync(join(stateDir, OFF), 'a')));
  }
}

/**
 * Enables enforcement again, where the agent was started with it: for good, or on a trial of `trialMs` that begins now.
 */
export function edgeOn(stateDir: string, clock: MachineClock, trialMs: number | null = null): void {
  const trial: Trial = {
    boot: clock.boot,
    deadlineMs: clock.nowMs() + (trialMs ?? 0),
    confirmed: trialMs === null,
  };
  try {
    write(stateDir, TRIAL, trial);
  } catch (error) {
    // A full disk: without any file nothing is on trial either, unless the agent was started with one.
    if (trialMs !== null) throw error;
    withStateError(stateDir, () => rmSync(join(stateDir, TRIAL), { force: true }));
  }
  withStateError(stateDir, () => rmSync(join(stateDir, OFF), { force: true }));
}

/** Returns `none` if no trial runs, and `too_late` if the agent has disabled enforcement already. */
export function edgeConfirm(stateDir: string): 'confirmed' | 'none' | 'too_late' {
  if (readDisabled(stateDir) !== null) return 'too_late';
  const trial = readTrial(stateDir);
  if (trial === null) return 'none';
  write(stateDir, TRIAL, { ...trial, confirmed: true });
  return 'confirmed';
}

export function readDisabled(stateDir: string): Disabled | null {
  const text = read(stateDir, OFF);
  if (text === null) return null;
  const value = parseObject(text);
  // An unreadable file counts as well: its presence disables.
  const reason = value?.['reason'];
  return {
    reason: typeof reason === 'string' ? reason.slice(0, 300) : 'disabled on this host',
  };
}

/** A damaged file counts as an expired trial: to disable is the safe side. */
export function readTrial(stateDir: string): Trial | null {
  const text = read(stateDir, TRIAL);
  if (text === null) return null;
  const value = parseObject(text);
  const [boot, deadlineMs] = [value?.['boot'], value?.['deadlineMs']];
  const confirmed = value?.['confirmed'] === true;
  const isWhole = typeof boot === 'string' && typeof deadlineMs === 'number';
  return isWhole ? { boot, deadlineMs, confirmed } : { boot: '', deadlineMs: 0, confirmed };
}

/** Whether a file of the state directory is one of the markers. */
export function isMarker(name: string): boolean {
  return name === OFF || name === TRIAL;
}

/** The trial was not confirmed in time. */
export function hasExpired({ boot, deadlineMs, confirmed }: Trial, clock: MachineClock): boolean {
  return !confirmed && (boot !== clock.boot || deadlineMs <= clock.nowMs());
}

/** Starts a trial, unless one runs or was confirmed. Called before the first write to the kernel. */
export function startTrial(stateDir: string, lastsMs: number, clock: MachineClock): Trial {
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

/** Ends a running trial for good: the agent was started to enforce without one. */
export function settleTrial(stateDir: string, clock: MachineClock): void {
  const trial = readTrial(stateDir);
  if (trial === null || trial.confirmed || hasExpired(trial, clock)) return;
  write(stateDir, TRIAL, { ...trial, confirmed: true });
}

/** The modification time of the directory: it changes with every switch, also with one that was reversed since. */
export function lastModified(stateDir: string): bigint | null {
  return withStateError(
    stateDir,
    () => statSync(stateDir, { bigint: true, throwIfNoEntry: false })?.mtimeNs ?? null,
  );
}

function write(stateDir: string, name: string, content: object): void {
  withStateError(stateDir, () => {
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

function withStateError<T>(stateDir: string, work: () => T): T {
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
