import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** Milliseconds in a tick of the kernel's accounting. */
const TICK_MS = 10;
const NS_PER_MS = 1_000_000;
const US_PER_MS = 1_000;
/** Threads that end between two samples of their waiting time take the rest of it with them. */
const SAMPLE_MS = 1_000;
/** kthreadd, the parent of all kernel threads. */
const KERNEL_THREADS = 2;
/** The share of the machine's processors that others may use: a fifth of a core of two. */
const OTHERS_SHARE = 0.1;

/** The use of processors by a process tree. */
interface TreeUse {
  /** Processor time, with that of descendants that ended. */
  readonly ranMs: number;
  /** The time in which its threads could run and waited for a core, summed. */
  readonly waitedMs: number;
}

export interface MachineUse<Name extends string> {
  readonly tookMs: number;
  readonly trees: Readonly<Record<Name, TreeUse>>;
  /**
   * Processor time of programs that are neither descendants of this process nor in the trees, and what a hypervisor gave
   * to other guests. Kernel threads are not counted, because they work for everybody.
   */
  readonly othersMs: number;
  /** The share of the time in which some thread of the machine waited for a core; null where the kernel does not tell. */
  readonly pressure: number | null;
}

/**
 * A meter of named process trees, each by the pids of its roots, from its creation until it is stopped. A tree ends where
 * the root of another one stands: the database that a program started counts as the database.
 */
export class ProcessorMeter<Name extends string> {
  readonly #roots: readonly (readonly [Name, readonly number[]])[];
  readonly #startMs = performance.now();
  readonly #ran: ReadonlyMap<Name, number>;
  readonly #othersMs: number;
  readonly #pressedMs: number | null;
  readonly #waited = new Map<Name, number>();
  /** The waiting time of each thread when it was sampled last. */
  readonly #threads: Map<string, number>;
  readonly #timer: NodeJS.Timeout;

  constructor(roots: Readonly<Record<Name, readonly number[]>>) {
    this.#roots = Object.entries<readonly number[]>(roots).map(([name, pids]) => [
      name as Name,
      pids,
    ]);
    const table = readProcesses();
    this.#ran = this.#sumTrees(table);
    this.#threads = new Map(
      [...this.#readThreads(table)].map(([id, { waitedMs }]) => [id, waitedMs]),
    );
    this.#othersMs = this.#readOthers(table, this.#startMs);
    this.#pressedMs = readPressure();
    this.#timer = setInterval(() => this.#sampleThreads(readProcesses()), SAMPLE_MS);
  }

  stop(): MachineUse<Name> {
    clearInterval(this.#timer);
    const nowMs = performance.now();
    const table = readProcesses();
    this.#sampleThreads(table);
    const tookMs = nowMs - this.#startMs;
    const ran = this.#sumTrees(table);
    const pressedMs = readPressure();
    return {
      tookMs,
      trees: Object.fromEntries(
        this.#roots.map(([name]) => {
          // A process that ends while the table is read may be missed once.
          const ranMs = Math.max(0, (ran.get(name) ?? 0) - (this.#ran.get(name) ?? 0));
          return [name, { ranMs, waitedMs: this.#waited.get(name) ?? 0 }];
        }),
      ) as Record<Name, TreeUse>,
      othersMs: Math.max(0, this.#readOthers(table, nowMs) - this.#othersMs),
      pressure:
        pressedMs === null || this.#pressedMs === null
          ? null
          : (pressedMs - this.#pressedMs) / tookMs,
    };
  }

  #membersOf(table: ProcessTable, roots: readonly number[]): Set<number> {
    const others = this.#roots.flatMap(([, pids]) => pids).filter((pid) => !roots.includes(pid));
    return descendants(table, roots, new Set(others));
  }

  #sumTrees(table: ProcessTable): Map<Name, number> {
    return new Map(
      this.#roots.map(([name, roots]) => [name, sumOf(table, this.#membersOf(table, roots))]),
    );
  }

  #readOthers(table: ProcessTable, nowMs: number): number {
    const ours = [process.pid, ...this.#roots.flatMap(([, pids]) => pids), KERNEL_THREADS];
    return nowMs * cpus().length - readIdle() - sumOf(table, descendants(table, ours));
  }

  #readThreads(
    table: ProcessTable,
  ): Map<string, { readonly name: Name; readonly waitedMs: number }> {
    const threads = new Map<string, { readonly name: Name; readonly waitedMs: number }>();
    for (const [name, roots] of this.#roots) {
      for (const pid of this.#membersOf(table, roots)) {
        for (const [thread, waitedMs] of readWaits(pid)) threads.set(thread, { name, waitedMs });
      }
    }
    return threads;
  }

  #sampleThreads(table: ProcessTable): void {
    for (const [thread, { name, waitedMs }] of this.#readThreads(table)) {
      const before = this.#threads.get(thread) ?? 0;
      // Less than before is another thread of the same number.
      const grown = waitedMs < before ? waitedMs : waitedMs - before;
      this.#threads.set(thread, waitedMs);
      this.#waited.set(name, (this.#waited.get(name) ?? 0) + grown);
    }
  }
}

/** Whether other programs used so much that long waits of these trees may be theirs. */
export function isDisturbed({ othersMs, tookMs }: MachineUse<string>): boolean {
  return othersMs > OTHERS_SHARE * cpus().length * tookMs;
}

/** Processor time of one process, without its children. */
export function cpuMs(pid: number | undefined): number {
  return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).ownMs;
}

interface ProcessTimes {
  readonly parent: number;
  readonly ownMs: number;
  /** The time of children that it has waited for, with theirs. */
  readonly endedMs: number;
}

type ProcessTable = ReadonlyMap<number, ProcessTimes>;

function readProcesses(): ProcessTable {
  const table = new Map<number, ProcessTimes>();
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const text = unlessEnded(() => readFileSync(`/proc/${name}/stat`, 'utf8'));
    if (text !== null) table.set(Number(name), parseStat(text));
  }
  return table;
}

/** proc_pid_stat(5). The name of the program, in brackets, may have spaces and brackets. */
function parseStat(text: string): ProcessTimes {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = (at: number): number => Number(fields[at]) * TICK_MS;
  return {
    parent: Number(fields[1]),
    ownMs: ticks(11) + ticks(12),
    endedMs: ticks(13) + ticks(14),
  };
}

function descendants(
  table: ProcessTable,
  roots: readonly number[],
  except: ReadonlySet<number> = new Set(),
): Set<number> {
  const children = Map.groupBy(table.keys(), (pid) => table.get(pid)?.parent);
  const found = new Set<number>();
  const waiting = [...roots];
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    if (found.has(pid) || except.has(pid) || !table.has(pid)) continue;
    found.add(pid);
    waiting.push(...(children.get(pid) ?? []));
  }
  return found;
}

function sumOf(table: ProcessTable, pids: ReadonlySet<number>): number {
  let sum = 0;
  for (const pid of pids) {
    const { ownMs, endedMs } = table.get(pid) ?? { ownMs: 0, endedMs: 0 };
    sum += ownMs + endedMs;
  }
  return sum;
}

/** The waiting time of each thread of a process, by its number. The second field of schedstat has nanoseconds. */
function readWaits(pid: number): Map<string, number> {
  const waits = new Map<string, number>();
  for (const thread of unlessEnded(() => readdirSync(`/proc/${pid}/task`)) ?? []) {
    const text = unlessEnded(() => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'));
    if (text !== null) waits.set(thread, Number(text.split(' ')[1]) / NS_PER_MS);
  }
  return waits;
}

/** The idle time of all processors since the boot, with that in which they waited for a disk. */
function readIdle(): number {
  const [, ...ticks] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/ +/) ?? [];
  return (Number(ticks[3]) + Number(ticks[4])) * TICK_MS;
}

function readPressure(): number | null {
  const text = unlessEnded(() => readFileSync('/proc/pressure/cpu', 'utf8')) ?? '';
  const total = /^some .*total=(\d+)$/m.exec(text)?.[1];
  return total === undefined ? null : Number(total) / US_PER_MS;
}

/** Returns null if the file is absent: processes and threads end at any moment. */
function unlessEnded<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
