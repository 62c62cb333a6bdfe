import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Namespace } from '../../stack/netns.ts';
import { within } from '../within.ts';
import { FIRST } from './first.ts';

const PROCESS = join(import.meta.dirname, 'reports-process.ts');
const READY_MS = 20_000;

/** When exports had reported enough packets of each destination: what comes before is the exporter's time, not a detector's. */
export class Reports {
  readonly #child: ChildProcess;
  readonly #atMs = new Map<string, number>();

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(where: Namespace, port: number, packets: number): Promise<Reports> {
    const args = [PROCESS, String(port), String(packets)];
    const child = where.spawn([...FIRST, process.execPath, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const reports = new Reports(child);
    const lines = createInterface({ input: child.stdout as Readable });
    lines.on('line', (line) => {
      const { ip, atMs } = JSON.parse(line) as { ip?: string; atMs?: number };
      if (ip !== undefined && atMs !== undefined) reports.#atMs.set(ip, atMs);
    });
    await within(READY_MS, 'exports are not read', once(lines, 'line'));
    return reports;
  }

  /** Wall clock; null: not yet. */
  of(ip: string): number | null {
    return this.#atMs.get(ip) ?? null;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await within(READY_MS, 'it does not end', gone);
  }
}
