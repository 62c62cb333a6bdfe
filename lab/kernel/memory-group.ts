import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** A memory cgroup of its own: who is in it has no more than its limit, kernel memory included. */
export interface MemoryGroup {
  add(pid: number): void;
  limit(bytes: number): void;
  usedBytes(): number;
  /** How many of its processes the kernel has ended for it. */
  kills(): number;
  /** Nobody may be in it any more. */
  remove(): void;
}

const HIERARCHIES = [
  {
    mount: '/sys/fs/cgroup/memory',
    own: /^\d+:memory:(.*)$/m,
    limit: 'memory.limit_in_bytes',
    used: 'memory.usage_in_bytes',
    events: 'memory.oom_control',
  },
  {
    mount: '/sys/fs/cgroup',
    own: /^0::(.*)$/m,
    limit: 'memory.max',
    used: 'memory.current',
    events: 'memory.events',
  },
] as const;

/** Null: this machine lets nobody make one. */
export function createMemoryGroup(label: string): MemoryGroup | null {
  const cgroups = readFileSync('/proc/self/cgroup', 'utf8');
  for (const { mount, own, limit, used, events } of HIERARCHIES) {
    for (const parent of [own.exec(cgroups)?.[1] ?? '/', '/']) {
      const folder = join(mount, parent, `pcl-${process.pid}-${label}`);
      try {
        mkdirSync(folder);
      } catch {
        continue;
      }
      if (!existsSync(join(folder, limit))) {
        rmdirSync(folder);
        continue;
      }
      return {
        add: (pid) => appendFileSync(join(folder, 'cgroup.procs'), `${pid}`),
        limit: (bytes) => writeFileSync(join(folder, limit), `${bytes}`),
        usedBytes: () => Number(readFileSync(join(folder, used), 'utf8')),
        kills: () =>
          Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(folder, events), 'utf8'))?.[1] ?? 0),
        remove: () => rmdirSync(folder),
      };
    }
  }
  return null;
}
