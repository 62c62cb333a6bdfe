import { readdir, readFile } from 'node:fs/promises';
import type { Usage } from '../engine.ts';

const EVERY_MS = 1_000;
/** Linux shows times in hundredths of a second whatever it counts in (USER_HZ). */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

interface Sample {
  readonly ticks: number;
  readonly pages: number;
  readonly atMs: number;
}

/** What the processes of one group use together, every second until it is stopped. Networks are not told apart. */
export function watchGroupUsage(group: number, listener: (usage: Usage) => void): () => void {
  let before: Sample | null = null;
  let busy = false;
  const look = async (): Promise<void> => {
    const now = await sample(group);
    if (before !== null && !stopped) {
      const seconds = (now.atMs - before.atMs) / 1000;
      const share = Math.max(0, now.ticks - before.ticks) / TICKS_PER_SECOND / seconds;
      listener({
        memoryBytes: now.pages * PAGE_BYTES,
        cpuPercent: Math.round(share * 100_000) / 1000,
        networkRxBytes: 0,
        networkTxBytes: 0,
      });
    }
    before = now;
  };
  const tick = (): void => {
    if (busy) return;
    busy = true;
    look()
      .catch(() => undefined)
      .finally(() => (busy = false));
  };
  let stopped = false;
  const timer = setInterval(tick, EVERY_MS);
  tick();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

async function sample(group: number): Promise<Sample> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(processes.map((pid) => readStat(pid, group)));
  const ours = found.filter((one) => one !== null);
  return {
    ticks: ours.reduce((sum, { ticks }) => sum + ticks, 0),
    pages: ours.reduce((sum, { pages }) => sum + pages, 0),
    atMs: performance.now(),
  };
}

/** Null for a process of another group, and for one that is gone. Fields as proc(5) counts them. */
async function readStat(
  pid: string,
  group: number,
): Promise<{ readonly ticks: number; readonly pages: number } | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The name, in parentheses, may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3] ?? 0);
  if (field(5) !== group) return null;
  // With the children that it has waited for.
  const ticks = field(14) + field(15) + field(16) + field(17);
  return { ticks, pages: field(24) };
}
