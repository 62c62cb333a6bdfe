import { readdir, readFile } from 'node:fs/promises';
import type { Usage } from '../engine.ts';

const EVERY_MS = 1_000;
/** Linux reports times in hundredths of a second (USER_HZ). */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

interface Sample {
  readonly ticks: number;
  readonly pages: number;
  readonly atMs: number;
}

/** Reports the usage of a process group every second. Network traffic cannot be attributed to it and is 0. */
export function watchGroupUsage(group: number, listener: (usage: Usage) => void): () => void {
  let before: Sample | null = null;
  let busy = false;
  const measure = async (): Promise<void> => {
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
    measure()
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

/** Returns null for a process of another group, and for one that is gone. Fields are numbered as in proc(5). */
async function readStat(
  pid: string,
  group: number,
): Promise<{ readonly ticks: number; readonly pages: number } | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The name in parentheses may contain any character.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3] ?? 0);
  if (field(5) !== group) return null;
  // Includes children that it has waited for.
  const ticks = field(14) + field(15) + field(16) + field(17);
  return { ticks, pages: field(24) };
}
