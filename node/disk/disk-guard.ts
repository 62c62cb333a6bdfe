import { setTimeout as wait } from 'node:timers/promises';
import type { DiskUse, MeasureDisk } from './measure.ts';
import { diskRefusal, isFarOver, type OverSince, stepDisk } from './disk-limit.ts';

/** A server as the guard sees it. */
export interface GuardedServer {
  readonly uuid: string;
  readonly folder: string;
  readonly limitMib: number;
  /**
   * What of it may write: the game, from its start to its end, or an install. An install unpacks what it then throws
   * away, so it is ended only where it is far over the limit.
   */
  readonly writes: 'nothing' | 'game' | 'install';
}

export interface GuardOptions {
  readonly measure: MeasureDisk;
  /** All servers of the node, as they are now. */
  readonly servers: () => readonly GuardedServer[];
  readonly onMeasured: (uuid: string, use: DiskUse) => void;
  /** Tells a server to stop, or kills it or its install. */
  readonly act: (uuid: string, action: 'stop' | 'kill', reason: string) => void;
  readonly onError: (uuid: string, error: unknown) => void;
  /** From the end of a round to the next; Wings takes 150 s. */
  readonly pauseMs?: number;
  /** What is free on the disk of the folders. When it falls fast the next round begins at once. */
  readonly freeBytes?: () => Promise<number>;
  /** From the stop of a server that is over its limit to its kill, if it still runs: Wings' minute. */
  readonly killAfterMs?: number;
}

const PAUSE_MS = 30_000;
const KILL_AFTER_MS = 60_000;
/** How often it is asked what is free: a call of the kernel that reads nothing. */
const LOOK_MS = 1_000;
/** What may go between two rounds without a look at who took it. */
const ALARM_BYTES = 256 * 1024 * 1024;

/** Measures every server in rounds, for ever, and stops those that have more than they may. */
export class DiskGuard {
  private readonly options: GuardOptions;
  private readonly stopping = new AbortController();
  private readonly overSince = new Map<string, OverSince>();
  private running: Promise<void> | null = null;

  constructor(options: GuardOptions) {
    this.options = options;
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Resolves when nothing is measured any more. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** One server now, as before a start; what is over then is not told to stop. */
  async measure({ uuid, folder, limitMib }: GuardedServer): Promise<string | null> {
    return diskRefusal(await this.use({ uuid, folder }), limitMib);
  }

  private async use({ uuid, folder }: Pick<GuardedServer, 'uuid' | 'folder'>): Promise<DiskUse> {
    const use = await this.options.measure(folder, this.stopping.signal);
    this.options.onMeasured(uuid, use);
    return use;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const free = await this.free();
      await this.round();
      await this.pause(free);
    }
  }

  /** Shorter when much less is free than when the round began. */
  private async pause(freeBefore: number): Promise<void> {
    const { signal } = this.stopping;
    const until = performance.now() + (this.options.pauseMs ?? PAUSE_MS);
    for (;;) {
      const leftMs = until - performance.now();
      if (leftMs <= 0 || signal.aborted) return;
      await wait(Math.min(LOOK_MS, leftMs), undefined, { signal }).catch(() => undefined);
      if (freeBefore - (await this.free()) > ALARM_BYTES) return;
    }
  }

  /** Where it cannot be told it never falls. */
  private async free(): Promise<number> {
    return (await this.options.freeBytes?.().catch(() => 0)) ?? 0;
  }

  private async round(): Promise<void> {
    const servers = this.options.servers();
    const known = new Set(servers.map(({ uuid }) => uuid));
    for (const uuid of this.overSince.keys()) if (!known.has(uuid)) this.overSince.delete(uuid);
    for (const server of servers) {
      if (this.stopping.signal.aborted) return;
      await this.examine(server);
    }
  }

  private async examine(server: GuardedServer): Promise<void> {
    try {
      this.judge(server.uuid, await this.use(server));
    } catch (error) {
      if (!this.stopping.signal.aborted) this.options.onError(server.uuid, error);
    }
  }

  /** With how the server is now: a large folder takes its time. */
  private judge(uuid: string, use: DiskUse): void {
    const server = this.options.servers().find((one) => one.uuid === uuid);
    if (server === undefined) return;
    const refusal = diskRefusal(use, server.limitMib);
    const killAfterMs = this.options.killAfterMs ?? KILL_AFTER_MS;
    const farOver = isFarOver(use, server.limitMib);
    const { overSince, action } = stepDisk(this.overSince.get(uuid) ?? null, {
      over: server.writes === 'install' ? farOver : refusal !== null,
      farOver,
      running: server.writes !== 'nothing',
      nowMs: performance.now(),
      killAfterMs,
    });
    this.overSince.set(uuid, overSince);
    if (action === 'none') return;
    this.options.act(uuid, action, refusal ?? '');
    // A round of many servers takes longer than a minute.
    if (action === 'stop') void this.examineLater(uuid, killAfterMs);
  }

  private async examineLater(uuid: string, afterMs: number): Promise<void> {
    const { signal } = this.stopping;
    // Timers may be a little early.
    await wait(afterMs + 5, undefined, { signal }).catch(() => undefined);
    const server = this.options.servers().find((one) => one.uuid === uuid);
    if (server?.writes === 'game' && !signal.aborted) await this.examine(server);
  }
}
