import type { EarlyDropDriver } from '../driver/driver.ts';
import { type Device, egressDevices } from './device.ts';

export interface EgressDevicesOptions {
  readonly driver: EarlyDropDriver;
  /** The names of all devices that packets may leave by. */
  readonly listDevices: () => readonly string[];
  readonly readDevice: (name: string) => Device | null;
}

/** A host may have hundreds of devices. */
const CHECK_MS = 1_000;

/** Keeps the egress program on the devices that packets leave by. */
export class EgressDevices {
  readonly #options: EgressDevicesOptions;
  #watched: readonly number[] = [];
  #unwatchable = 0;
  #checkedMs = -Infinity;

  constructor(options: EgressDevicesOptions) {
    this.#options = options;
  }

  /** The number of devices where the program cannot be attached. */
  get unwatchable(): number {
    return this.#unwatchable;
  }

  /** Whether another program detached ours since the last `watch`. */
  get isDetached(): boolean {
    return !this.#options.driver.watchesExactly(this.#watched);
  }

  /** Like `isDetached`, but looks at most once a second. */
  isFoundDetached(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#checkedMs < CHECK_MS) return false;
    this.#checkedMs = nowMs;
    return this.isDetached;
  }

  /** Whether packets leave by other devices than those that are watched. */
  hasChanged(): boolean {
    return !this.#options.driver.watchesExactly(this.#current());
  }

  /** Watches the current devices. `onChange` runs before another set of devices is watched. */
  watch(onChange: () => void): void {
    const { driver } = this.#options;
    const devices = this.#current();
    // Also true if an earlier agent left it that way.
    [this.#watched, this.#unwatchable] = [devices, 0];
    if (driver.watchesExactly(devices)) return;
    onChange();
    const failed = driver.watch(devices);
    this.#watched = devices.filter((ifindex) => !failed.includes(ifindex));
    this.#unwatchable = failed.length;
  }

  #current(): number[] {
    const { listDevices, readDevice } = this.#options;
    return egressDevices(listDevices().flatMap((name) => readDevice(name) ?? []));
  }
}
