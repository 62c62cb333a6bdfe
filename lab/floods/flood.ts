import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { within } from '../bench/within.ts';
import type { Namespace } from '../stack/netns.ts';
import type { FloodPlan, FloodReport } from './schedule.ts';

/**
 * Sends these floods from a namespace, all at once, and answers what was sent when the last has ended, or when it was
 * `enough`; rejects when called off.
 */
export async function sendFloods(
  from: Namespace,
  plans: readonly FloodPlan[],
  calledOff: AbortSignal = new AbortController().signal,
  enough: AbortSignal = new AbortController().signal,
): Promise<ReadonlyMap<string, FloodReport>> {
  const script = join(import.meta.dirname, 'flood-process.ts');
  // Before whatever else the machine does: what is measured beside it should be the floods' due.
  const child = from.spawn(['nice', '--adjustment=-20', process.execPath, script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  calledOff.addEventListener('abort', () => child.kill('SIGKILL'));
  enough.addEventListener('abort', () => child.kill('SIGTERM'));
  const reports = new Map<string, FloodReport>();
  createInterface({ input: child.stdout as Readable }).on('line', (line) => {
    const report = JSON.parse(line) as Partial<FloodReport>;
    if (report.name !== undefined) reports.set(report.name, report as FloodReport);
  });
  (child.stdin as Writable).end(JSON.stringify(plans));
  const longest = Math.max(
    ...plans.map(
      ({ seconds, startSeconds = 0, times = 1, pauseSeconds = 0 }) =>
        startSeconds + (seconds + pauseSeconds) * times,
    ),
  );
  try {
    const [code] = (await within(
      longest * 1000 + 30_000,
      'floods do not end',
      once(child, 'close'),
    )) as [number | null];
    if (code !== 0) throw new Error(`the flood ended with ${code}`);
    return reports;
  } finally {
    child.kill('SIGKILL');
  }
}
