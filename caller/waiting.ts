import type { Command } from 'commander';
import type { KeyClient } from '@portcullis/client/types.ts';
import { type CallOptions, parseDuration, withCallOptions } from './options.ts';
import { Progress } from './progress.ts';

/** Options of commands that write to the firewall. */
export interface WriteOptions extends CallOptions {
  readonly wait?: boolean;
  readonly timeout: string;
}

export function withWriteOptions(command: Command): Command {
  return withCallOptions(command)
    .option('--wait', 'wait until it is live on every edge')
    .option('--timeout <time>', 'how long --wait waits', '10m');
}

const LONGEST_MS = 86_400_000;
const SHOW_MS = 1_000;

/** With `--wait`: waits until a write is live where it applies. */
export async function waitIfAsked(
  client: KeyClient,
  generation: number | null,
  options: WriteOptions,
  ip?: string,
): Promise<void> {
  const timeoutMs = parseDuration(options.timeout, '--timeout', LONGEST_MS);
  if (options.wait !== true || generation === null) return;
  const progress = new Progress(options);
  const startMs = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startMs) / 1_000);
    progress.show(`accepted; until it is live on every edge: ${seconds} s`);
  }, SHOW_MS);
  try {
    await client.waitUntilLive(generation, { timeoutMs, ...(ip !== undefined && { ip }) });
  } finally {
    clearInterval(timer);
    progress.end();
  }
}
