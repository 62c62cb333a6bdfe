import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export const MAIN = join(import.meta.dirname, '..', 'main.ts');

export interface Ran {
  /** null: it took longer than it may and was ended. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** `portcullis ARGS` in a process of its own, to its end. */
export async function runToEnd(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<Ran> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limitMs,
  });
  const [out, err, [code]] = await Promise.all([
    child.stdout.setEncoding('utf8').toArray(),
    child.stderr.setEncoding('utf8').toArray(),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, out: out.join(''), err: err.join('') };
}
