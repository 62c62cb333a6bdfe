import type { KernelState } from '@portcullis/core/firewall/edge-state.ts';
import type { NamedDevices } from '../host/devices.ts';
import type { LinkEvent, LinkWatch } from '@portcullis/dataplane/kernel/netlink/links.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { Driver, Watch } from '@portcullis/dataplane/nftables/driver.ts';
import type { KernelWatch } from '../report/report.ts';

export type WatchLinks = (report: (event: LinkEvent) => void, changed: () => void) => LinkWatch;

export interface GuardOptions {
  readonly driver: Driver;
  /** Null: renames of devices are not followed. */
  readonly watchLinks: WatchLinks | null;
  /** Follows renames and what else happens to devices. */
  readonly devices: Pick<NamedDevices, 'follow' | 'beforeLook'>;
  /** `repair` restores what another program detached and returns a description of it, or null. */
  readonly earlyDrop: { repair(): string | null; followDevices(): () => void } | null;
  readonly log: Log;
  /** Whether this agent owns the table. */
  readonly enforcing: () => boolean;
  /** The kernel state may differ from what the agent wrote. */
  readonly invalidate: () => void;
  /** Applies the desired state. */
  readonly repair: () => void;
  /** A device came, went, or changed. */
  readonly linksChanged: () => void;
  /** Monotonic; for tests. */
  readonly nowMs?: () => number;
}

/** The number of repairs in a row without a pause; after that, another program seems to undo them. */
const IMMEDIATE = 10;
/** Up to this number repairs still come within the promised two seconds. */
const PROMPT = 40;
const SHORT_PAUSE_MS = 1_500;
const LONGEST_PAUSE_MS = 30_000;
/** The poll interval of attached programs: the kernel sends no event when one is detached. A poll takes microseconds. */
const POLL_MS = 250;
/** After this time without a change the count starts again. */
const CALM_MS = 60_000;

/** An interference without a change for this time is over, unless repairs pause for longer. */
const OVER_MS = 10_000;

/** The pause before the repair with this number: the table of a large edge costs seconds of CPU. */
function pauseBefore(repair: number): number {
  if (repair <= IMMEDIATE) return 0;
  return Math.min(SHORT_PAUSE_MS * 2 ** Math.max(0, repair - PROMPT), LONGEST_PAUSE_MS);
}

/**
 * Detects changes that other programs make to our kernel objects and starts the repair: immediately at first, then with
 * growing pauses and a reported problem if another program keeps undoing it. Follows renamed devices.
 */
export class Guard {
  readonly #options: GuardOptions;
  readonly #watches: { stop(): void }[] = [];
  #repairs = 0;
  #lastAtMs = -Infinity;
  #pending: NodeJS.Timeout | undefined;
  #reported: string | null = null;
  #started = false;
  #table: Watch | null = null;
  /** Numbers of foreign changes: detected, and repaired. */
  #detected = 0;
  #repaired = 0;
  #allRepairs = 0;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /** Does nothing if it is started already. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    const { driver, watchLinks, log, earlyDrop } = this.#options;
    if (earlyDrop !== null) {
      const look = setInterval(() => this.#repairEarlyDrop(earlyDrop), POLL_MS);
      this.#watches.push({ stop: () => clearInterval(look) });
    }
    const watch = driver.watch((what) => this.#changed(what));
    if (watch !== null) this.#watches.push(watch);
    this.#table = watch;
    if (watchLinks === null) return;
    try {
      let onChange = (): void => {};
      const changed = (): void => {
        onChange();
        this.#options.linksChanged();
      };
      const links = watchLinks((event) => this.#follow(event), changed);
      this.#watches.push(links);
      this.#options.devices.beforeLook(() => links.read());
      // After the watch is open, so that no event is lost.
      if (earlyDrop !== null) onChange = earlyDrop.followDevices();
    } catch (error) {
      log.warn({ error }, 'devices that are renamed are not detected');
    }
  }

  stop(): void {
    this.#options.devices.beforeLook(() => {});
    for (const watch of this.#watches.splice(0)) watch.stop();
    clearTimeout(this.#pending);
  }

  /** A sentence for the operator while another program keeps undoing repairs, else null. */
  get problem(): string | null {
    const quietMs = this.#nowMs() - this.#lastAtMs;
    const isOver = quietMs > Math.max(OVER_MS, 2 * pauseBefore(this.#repairs));
    return this.#pending === undefined && isOver ? null : this.#reported;
  }

  /** Whether the kernel has what the agent wrote. `unknown`: the edge does not enforce, or changes are not reported. */
  get kernel(): KernelState {
    if (this.#table === null || !this.#options.enforcing()) return 'unknown';
    // Events arrive with a delay, so those that wait are read first.
    this.#table.poll();
    return this.#detected > this.#repaired ? 'disturbed' : 'undisturbed';
  }

  /** The number of repairs since the start. */
  get repairs(): number {
    return this.#allRepairs;
  }

  /** Called before an apply. Call the result once that has succeeded: it counts the changes detected before as repaired. */
  startRepair(): () => void {
    const detected = this.#detected;
    return () => {
      if (detected > this.#repaired) this.#allRepairs++;
      this.#repaired = Math.max(this.#repaired, detected);
    };
  }

  #nowMs(): number {
    return (this.#options.nowMs ?? (() => performance.now()))();
  }

  #changed(what: string): void {
    const { log, invalidate, repair, enforcing } = this.#options;
    if (!enforcing()) return;
    this.#detected++;
    const nowMs = this.#nowMs();
    if (nowMs - this.#lastAtMs > CALM_MS) {
      this.#repairs = 0;
      this.#reported = null;
    }
    this.#lastAtMs = nowMs;
    invalidate();
    if (this.#pending !== undefined) return;
    this.#repairs++;
    log.warn({ what, times: this.#repairs }, 'another program changed our table');
    const pauseMs = pauseBefore(this.#repairs);
    if (pauseMs === 0) {
      repair();
      return;
    }
    this.#reported = `another program keeps changing our table: ${what}; repaired ${this.#repairs - 1} times`;
    this.#pending = setTimeout(() => {
      this.#pending = undefined;
      repair();
    }, pauseMs);
  }

  #repairEarlyDrop(earlyDrop: NonNullable<GuardOptions['earlyDrop']>): void {
    const { log, repair, enforcing } = this.#options;
    if (!enforcing()) return;
    const what = earlyDrop.repair();
    if (what === null) return;
    log.warn({ what }, 'another program changed the early drop');
    repair();
  }

  #follow(event: LinkEvent): void {
    const { log, devices, repair, linksChanged } = this.#options;
    if (event.kind === 'renamed') {
      const { before, name } = event;
      log.warn(
        { before, name },
        'a device was renamed; if it is ours, its packets are evaluated under either name',
      );
    }
    // Also where the names stay as they are: what is attached to a device has to come back with it.
    devices.follow(event);
    linksChanged();
    repair();
  }
}

/** Both parts that evaluate packets: nftables, and the early drop before it. */
export function kernelWatch(
  guard: Guard,
  earlyDrop: { needsApply(): boolean; readonly repairs: number } | null,
): KernelWatch {
  return {
    state: () =>
      guard.kernel === 'undisturbed' && earlyDrop?.needsApply() === true
        ? 'disturbed'
        : guard.kernel,
    repairs: () => guard.repairs + (earlyDrop?.repairs ?? 0),
  };
}
