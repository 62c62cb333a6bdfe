import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { DiskUse, MeasureDisk } from './measure.ts';
import { diskRefusal, farEntries, isFarOver, type OverSince, stepDisk } from './disk-limit.ts';
import type { Lane } from './turns.ts';

/** A server as the guard sees it. */
export interface GuardedServer {
  readonly uuid: string;
  readonly folder: string;
  readonly limitMib: number;
  /** The most files, folders and links; 0, the default: what `limitMib` allows. */
  readonly limitEntries?: number;
  /**
   * The program that may write to the folder: the game, from its start to its end, or an install. An install unpacks
   * temporary files, so it is ended only if it is far over the limit.
   */
  readonly writes: 'nothing' | 'game' | 'install';
}

export interface GuardOptions {
  readonly measure: MeasureDisk;
  /** Returns the present servers of the node. */
  readonly servers: () => readonly GuardedServer[];
  /** `startedAtMs`: when the measurement began, by `performance.now()`. */
  readonly onMeasured: (uuid: string, use: DiskUse, startedAtMs: number) => void;
  /** Stops a server, or kills it or its install. */
  readonly act: (uuid: string, action: 'stop' | 'kill', reason: string) => void;
  readonly onError: (uuid: string, error: unknown) => void;
  /** The pause between two rounds; Wings takes 150 s. */
  readonly pauseMs?: number;
  /** The space that is free on the disk of the folders, in bytes. If it falls fast, the next round starts at once. */
  readonly freeBytes?: () => Promise<number>;
  /** The time from the stop of a server over its limit to its kill; the same as Wings. */
  readonly killAfterMs?: number;
}

const PAUSE_MS = 30_000;
const KILL_AFTER_MS = 60_000;
/** The interval at which the free bytes are checked. */
const FREE_CHECK_MS = 1_000;
/** A round starts early if the free bytes have fallen by more than this. */
const ALARM_BYTES = 256 * 1024 * 1024;

/**
 * Measures all servers concurrently, in rounds, and stops those that are over their limit. A server that starts is
 * measured ahead of the round.
 */
export class DiskGuard {
  private readonly options: GuardOptions;
  private readonly stopping = new AbortController();
  private readonly overSince = new Map<string, OverSince>();
  /** The measurements of a round, by server. */
  private readonly underWay = new Map<string, Promise<void>>();
  private running: Promise<void> | null = null;

  constructor(options: GuardOptions) {
    this.options = options;
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Resolves when measuring has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await Promise.all(this.underWay.values());
  }

  /**
   * Measures one server before a start. Returns why it must not start, or null. Rejects with the reason of the signal.
   */
  async measure(server: GuardedServer, signal?: AbortSignal): Promise<string | null> {
    const both = AbortSignal.any([this.stopping.signal, ...(signal === undefined ? [] : [signal])]);
    const use = await this.use(server, 'start', both);
    return diskRefusal(use, server.limitMib, server.limitEntries);
  }

  private async use(
    { uuid, folder, limitMib, limitEntries }: GuardedServer,
    lane: Lane,
    signal: AbortSignal = this.stopping.signal,
  ): Promise<DiskUse> {
    const most = farEntries(limitMib, limitEntries);
    const order = { lane, ...(Number.isFinite(most) && { maxEntries: most }) };
    const startedAtMs = performance.now();
    const use = await this.options.measure(folder, signal, order);
    this.options.onMeasured(uuid, use, startedAtMs);
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

  /** Ends early if much less is free than at the start of the round. */
  private async pause(freeBefore: number): Promise<void> {
    const { signal } = this.stopping;
    const until = performance.now() + this.pauseMs;
    for (;;) {
      const leftMs = until - performance.now();
      if (leftMs <= 0 || signal.aborted) return;
      await wait(Math.min(FREE_CHECK_MS, leftMs), undefined, { signal }).catch(() => undefined);
      if (freeBefore - (await this.free()) > ALARM_BYTES) return;
    }
  }

  /** Returns 0 where the free bytes are not known, so they never fall. */
  private async free(): Promise<number> {
    return (await this.options.freeBytes?.().catch(() => 0)) ?? 0;
  }

  private get pauseMs(): number {
    return this.options.pauseMs ?? PAUSE_MS;
  }

  /** Ends when all are measured, or after the time of a pause: a large folder does not hold back the next round. */
  private async round(): Promise<void> {
    const servers = this.options.servers();
    const known = new Set(servers.map(({ uuid }) => uuid));
    for (const uuid of this.overSince.keys()) if (!known.has(uuid)) this.overSince.delete(uuid);
    const examined = servers
      .filter(({ uuid }) => !this.underWay.has(uuid))
      .map((server) => this.examineInRound(server));
    const ended = Promise.all(examined).then(() => {});
    const signal = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(this.pauseMs)]);
    await Promise.race([ended, once(signal, 'abort')]);
  }

  private async examineInRound(server: GuardedServer): Promise<void> {
    const examining = this.examine(server, 'round');
    this.underWay.set(server.uuid, examining);
    await examining;
    this.underWay.delete(server.uuid);
  }

  private async examine(server: GuardedServer, lane: Lane): Promise<void> {
    try {
      this.enforce(server.uuid, await this.use(server, lane));
    } catch (error) {
      if (!this.stopping.signal.aborted) this.options.onError(server.uuid, error);
    }
  }

  /** Uses the present state of the server, because measuring a large folder takes long. */
  private enforce(uuid: string, use: DiskUse): void {
    const server = this.options.servers().find((one) => one.uuid === uuid);
    if (server === undefined) return;
    const { limitMib, limitEntries } = server;
    const refusal = diskRefusal(use, limitMib, limitEntries);
    const killAfterMs = this.options.killAfterMs ?? KILL_AFTER_MS;
    const farOver = isFarOver(use, limitMib, limitEntries);
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
    // A round of many servers may take longer than the time to the kill.
    if (action === 'stop') void this.examineLater(uuid, killAfterMs);
  }

  private async examineLater(uuid: string, afterMs: number): Promise<void> {
    const { signal } = this.stopping;
    // Timers may fire slightly early.
    await wait(afterMs + 5, undefined, { signal }).catch(() => undefined);
    const server = this.options.servers().find((one) => one.uuid === uuid);
    if (server?.writes === 'game' && !signal.aborted) await this.examine(server, 'start');
  }
}
