import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Whether a process still runs. A zombie does not: where PID 1 does not reap (many containers), a killed
 * server stays in the table for ever, and `kill(pid, 0)` says it lives.
 */
export function isRunning(pid: number): boolean {
  const state = processState(pid);
  return state !== null && state !== 'Z' && state !== 'X';
}

/** The state letter of proc(5), or null when there is no such process. */
function processState(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name stands in parentheses and may itself hold any character.
    return stat.slice(stat.lastIndexOf(')') + 2).charAt(0) || null;
  } catch {
    return null;
  }
}

/** The folder a process works in; null when it is gone or not ours to look at. */
export function workingDirectory(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

/** Sends a signal; false when there is nobody to receive it. */
export function sendSignal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

/** The name of the program a process runs, cut to 15 bytes by the kernel. */
export function commandName(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return null;
  }
}
