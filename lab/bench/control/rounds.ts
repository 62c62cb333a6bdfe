import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Load, LoadResult } from './load.ts';

export const CONNECTIONS = 8;
/** Many short rounds in turn, so that what else the machine does meets both sides alike. */
export const ROUNDS = 12;
export const ROUND_MS = 1500;
const HOST = '127.0.0.1';

const GENERATOR = join(import.meta.dirname, 'load.ts');

/** The generator is a process of its own, so that it and the server do not share an event loop. */
export function runLoad(
  port: number,
  texts: readonly string[],
  connections = CONNECTIONS,
): LoadResult {
  const load: Load = { host: HOST, port, connections, durationMs: ROUND_MS, requests: texts };
  const result = spawnSync(process.execPath, [GENERATOR], {
    input: JSON.stringify(load),
    encoding: 'utf8',
    maxBuffer: 1 << 24,
  });
  if (result.status !== 0) throw new Error(`the load generator failed: ${result.stderr}`);
  return JSON.parse(result.stdout) as LoadResult;
}

/** The same beside others. */
export async function startLoad(
  port: number,
  requests: readonly string[],
  options: Pick<Load, 'connections' | 'durationMs' | 'sources' | 'reconnects'>,
): Promise<LoadResult> {
  const load: Load = { host: HOST, port, requests, ...options };
  const child = spawn(process.execPath, [GENERATOR], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(load));
  return JSON.parse(await text(child.stdout)) as LoadResult;
}

export function mustAnswer(result: LoadResult, status: string): void {
  const others = Object.keys(result.statuses).filter((got) => got !== status);
  if (others.length > 0)
    throw new Error(`not every answer was ${status}: ${JSON.stringify(result.statuses)}`);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
