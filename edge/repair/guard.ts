import type { KernelState } from '@portcullis/core/firewall/edge-state.ts';
import { DeviceNames } from './device-names.ts';
import type { LinkEvent, LinkWatch } from '@portcullis/dataplane/kernel/netlink/links.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { Driver, Watch } from '@portcullis/dataplane/nftables/driver.ts';
import type { KernelWatch } from '../report/report.ts';

export type WatchLinks = (report: (event: LinkEvent) => void, stirred: () => void) => LinkWatch;

export interface GuardOptions {
  readonly driver: Driver;
  /** Null: devices are not followed. */
  readonly watchLinks: WatchLinks | null;
  /** Puts back what somebody took off; in words what it found, null: nothing. */
  readonly earlyDrop: { mend(): string | null; followDevices(): () => void } | null;
  readonly log: Log;
  /** Whether the table is ours to keep. */
  readonly enforcing: () => boolean;
  /** What is in the kernel may not be what we put there. */
  readonly doubt: () => void;
  /** Bring the kernel to what is desired. */
  readonly repair: () => void;
}

/** Repairs in a row that are made at once; from then on somebody seems to undo them. */
const AT_ONCE = 10;
/** Then still within the two seconds that are promised, until this many. */
const SOON = 40;
const SHORT_PAUSE_MS = 1_500;
const LONGEST_PAUSE_MS = 30_000;
/**
 * How often is looked whether our programs are on their devices: the kernel has no news of a link that is detached
 * (`ip monitor` is silent). A look takes some microseconds.
 */
const LOOK_MS = 250;
/** So long without another change, and the next one is the first again. */
const CALM_MS = 60_000;

/** Before the repair of this number. A whole table of a large edge takes seconds of a processor. */
function pauseBefore(repair: number): number {
  if (repair <= AT_ONCE) return 0;
  return Math.min(SHORT_PAUSE_MS * 2 ** Math.max(0, repair - SOON), LONGEST_PAUSE_MS);
}

/**
 * Notices what others do to what we put into the kernel, and has it repaired: at once, but ever more slowly against
 * somebody who undoes it every time, and then says so. Follows devices under new names.
 */
export class Guard {
  readonly #options: GuardOptions;
  readonly #names = new DeviceNames();
  readonly #watches: { stop(): void }[] = [];
  #repairs = 0;
  #lastAtMs = -Infinity;
  #pending: NodeJS.Timeout | undefined;
  #said: string | null = null;
  #started = false;
  #table: Watch | null = null;
  /** Changes by others that were noticed, and how many of them are mended. */
  #noticed = 0;
  #mended = 0;
  #allRepairs = 0;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /** No-op when it has begun. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    const { driver, watchLinks, log, earlyDrop } = this.#options;
    if (earlyDrop !== null) {
      const look = setInterval(() => this.#mend(earlyDrop), LOOK_MS);
      this.#watches.push({ stop: () => clearInterval(look) });
    }
    const watch = driver.watch((what) => this.#changed(what));
    if (watch !== null) this.#watches.push(watch);
    this.#table = watch;
    if (watchLinks === null) return;
    try {
      let stir = (): void => {};
      this.#watches.push(
        watchLinks(
          (event) => this.#follow(event),
          () => stir(),
        ),
      );
      // Only now that there will be news.
      if (earlyDrop !== null) stir = earlyDrop.followDevices();
    } catch (error) {
      log.warn({ error }, 'devices that are renamed are not noticed');
    }
  }

  stop(): void {
    for (const watch of this.#watches.splice(0)) watch.stop();
    clearTimeout(this.#pending);
  }

  /** In words for the operator, while somebody keeps undoing what we do; null: nobody does. */
  get problem(): string | null {
    return performance.now() - this.#lastAtMs < CALM_MS ? this.#said : null;
  }

  /** Whether the kernel has what we put there. `unknown`: we do not enforce, or nobody tells us of changes. */
  get kernel(): KernelState {
    if (this.#table === null || !this.#options.enforcing()) return 'unknown';
    // What is done is told a little later: whoever asks hears of what was done before.
    this.#table.poll();
    return this.#noticed > this.#mended ? 'disturbed' : 'undisturbed';
  }

  /** Times since the start that we mended what others did. */
  get repairs(): number {
    return this.#allRepairs;
  }

  /** Before an apply; call what it answers once that has succeeded. What is noticed meanwhile is still to be mended. */
  mending(): () => void {
    const noticed = this.#noticed;
    return () => {
      if (noticed > this.#mended) this.#allRepairs++;
      this.#mended = Math.max(this.#mended, noticed);
    };
  }

  /** What these devices are called now, beside the names that the operator gave. */
  devices(named: readonly string[]): readonly string[] {
    return this.#names.of(named);
  }

  #changed(what: string): void {
    const { log, doubt, repair, enforcing } = this.#options;
    if (!enforcing()) return;
    this.#noticed++;
    const nowMs = performance.now();
    if (nowMs - this.#lastAtMs > CALM_MS) {
      this.#repairs = 0;
      this.#said = null;
    }
    this.#lastAtMs = nowMs;
    doubt();
    if (this.#pending !== undefined) return;
    this.#repairs++;
    log.warn({ what, times: this.#repairs }, 'somebody else changed our table');
    const pauseMs = pauseBefore(this.#repairs);
    if (pauseMs === 0) {
      repair();
      return;
    }
    this.#said = `somebody else keeps changing our table: ${what}; repaired ${this.#repairs - 1} times`;
    this.#pending = setTimeout(() => {
      this.#pending = undefined;
      repair();
    }, pauseMs);
  }

  #mend(earlyDrop: NonNullable<GuardOptions['earlyDrop']>): void {
    const { log, repair, enforcing } = this.#options;
    if (!enforcing()) return;
    const what = earlyDrop.mend();
    if (what === null) return;
    log.warn({ what }, 'somebody else changed the early drop');
    repair();
  }

  #follow(event: LinkEvent): void {
    const { log, repair } = this.#options;
    if (event.kind === 'renamed') {
      const { before, name } = event;
      log.warn(
        { before, name },
        'a device was renamed; if it is ours, it is judged by either name',
      );
    }
    // Also where the names stay as they are: what is attached to a device has to come back with it.
    this.#names.follow(event);
    repair();
  }
}

/** Both that judge: nftables, and the early drop in front of it. */
export function kernelWatch(
  guard: Guard,
  earlyDrop: { disturbed(): boolean; readonly repairs: number } | null,
): KernelWatch {
  return {
    state: () =>
      guard.kernel === 'undisturbed' && earlyDrop?.disturbed() === true
        ? 'disturbed'
        : guard.kernel,
    repairs: () => guard.repairs + (earlyDrop?.repairs ?? 0),
  };
}
