import {
  type Device,
  type DeviceMode,
  type DevicePlan,
  lowerDeviceWithProgram,
  planDevice,
} from './device.ts';
import type { Attached, EarlyDropDriver, EarlySettings } from '../driver/driver.ts';
import type { Hook } from './links.ts';

export interface Devices {
  /** Returns null if there is no such device. */
  readonly readDevice: (name: string) => Device | null;
  /** Returns the current name of the device, or null if it is gone. */
  readonly deviceName: (ifindex: number) => string | null;
}
interface AttachedAs extends DeviceMode {
  /** The name of the device when it was attached. */
  readonly name: string;
}

interface KnownDevice extends DeviceMode {
  readonly ifindex: number | null;
  /**
   * Index of the lower device whose program evaluates the packets of this one; null if this one has its own program
   * or none.
   */
  readonly lower: number | null;
  /** The plan as JSON, to detect changes. */
  readonly plan: string;
}

/** The named devices, and how the loaded program is attached to each. */
export class Attachments {
  readonly #driver: EarlyDropDriver;
  readonly #devices: Devices;
  #named: ReadonlySet<string> = new Set();
  /** The named devices at the last read. */
  #current: ReadonlyMap<string, Device | null> = new Map();
  readonly #modes = new Map<string, KnownDevice>();
  /** Devices that our program is attached to, by index. */
  readonly #attached = new Map<number, AttachedAs>();
  /** The time of the last refusal, by index of the devices that the kernel refused. */
  readonly #refused = new Map<number, number>();
  #repairs = 0;

  constructor(driver: EarlyDropDriver, devices: Devices) {
    this.#driver = driver;
    this.#devices = devices;
  }

  /** The number of repairs after another program's changes. */
  get repairs(): number {
    return this.#repairs;
  }

  /** Reads the devices that `vlans` and `attach` use. */
  readDevices(named: readonly string[]): void {
    this.#named = new Set(named);
    this.#current = new Map(named.map((name) => [name, this.#devices.readDevice(name)]));
  }

  /** Protected VLANs on devices with a program. */
  vlans(): EarlySettings['vlans'] {
    return [...this.#current.values()].flatMap((device) => {
      const plan = device === null ? null : planDevice(device, this.#named);
      if (device === null || plan === null || !plan.attach) return [];
      return plan.vlans.map((outer) => ({ ifindex: device.ifindex, outer, inner: 0 }));
    });
  }

  /** Attaches to every named device where that is possible, and detaches from all others. */
  attach(): void {
    const driver = this.#driver;
    const wanted = new Set<number>();
    for (const name of this.#inLowerFirstOrder()) {
      const device = this.#current.get(name) ?? null;
      const { plan, text } = planOf(device, this.#named);
      const ifindex = device?.ifindex ?? null;
      if (ifindex === null || !plan.attach) {
        const reason = plan.attach ? null : plan.reason;
        this.#modes.set(name, { xdp: 'none', reason, ifindex, lower: null, plan: text });
        continue;
      }
      const lower = lowerDeviceWithProgram(name, this.#current, this.#named);
      const lowerState = lower === null ? undefined : this.#modes.get(lower.name);
      if (lower !== null && lowerState?.lower === null && lowerState.xdp !== 'none') {
        const reason = `its packets are evaluated on ${lower.name}`;
        const mode = { xdp: lowerState.xdp, reason, lower: lower.ifindex };
        this.#modes.set(name, { ...mode, ifindex, plan: text });
        continue;
      }
      wanted.add(ifindex);
      // Found by index, so a renamed device keeps its program.
      const known = this.#attached.get(ifindex);
      const mode =
        known !== undefined && driver.attached(ifindex) ? known : this.#attachTo(ifindex, name);
      if (mode.xdp !== 'none') this.#attached.set(ifindex, { ...mode, name });
      const { xdp, reason } = mode;
      this.#modes.set(name, { xdp, reason, ifindex, lower: null, plan: text });
    }
    for (const [ifindex, { name }] of this.#attached)
      if (this.#isBeingRenamed(ifindex, name)) wanted.add(ifindex);
    for (const ifindex of driver.devices()) if (!wanted.has(ifindex)) driver.detach(ifindex);
    for (const map of [this.#attached, this.#refused])
      for (const ifindex of map.keys()) if (!wanted.has(ifindex)) map.delete(ifindex);
    for (const name of this.#modes.keys()) if (!this.#named.has(name)) this.#modes.delete(name);
  }

  /**
   * Attaches again where another program detached ours, and retries devices that were refused. It reads only the
   * state of our links, which takes microseconds. Returns the names of changed devices.
   */
  repair(): string[] {
    const nowMs = performance.now();
    const lost = [...this.#attached.keys()].filter((ifindex) => !this.#driver.attached(ifindex));
    const due = [...this.#refused].flatMap(([ifindex, triedMs]) =>
      nowMs - triedMs < RETRY_MS ? [] : ifindex,
    );
    const changed = lost.map((ifindex) => this.#reattach(ifindex));
    for (const ifindex of due) {
      const name = this.#reattach(ifindex);
      if (this.#attached.has(ifindex)) changed.push(name);
    }
    return changed;
  }

  /** Reads only the state of our links. */
  get isDetached(): boolean {
    return [...this.#attached.keys()].some((ifindex) => !this.#driver.attached(ifindex));
  }

  /** Whether a device changed, needs another plan, or lost its program. */
  hasChanged(): boolean {
    return [...this.#modes].some(([name, { ifindex, lower, xdp, plan }]) => {
      const device = this.#devices.readDevice(name);
      if (ifindex !== (device?.ifindex ?? null)) return true;
      if (plan !== planOf(device, this.#named).text) return true;
      const attachedTo = lower ?? ifindex;
      return xdp !== 'none' && attachedTo !== null && !this.#driver.attached(attachedTo);
    });
  }

  /** Indexes of the named devices that are there. */
  get indexes(): number[] {
    return [...this.#current.values()].flatMap((device) => device?.ifindex ?? []);
  }

  /** The hooks of our programs, by the index of the device. */
  get hooks(): ReadonlyMap<number, Hook> {
    const found = new Map<number, Hook>();
    for (const [ifindex, { xdp }] of this.#attached)
      if (xdp === 'native' || xdp === 'tc') found.set(ifindex, xdp);
    return found;
  }

  /** Whether there are named devices, and all packets that enter by them are seen. */
  get isComplete(): boolean {
    return this.#modes.size > 0 && [...this.#modes.values()].every(({ xdp }) => xdp !== 'none');
  }

  /** Returns null for a device that is not named. */
  modeOf(device: string): DeviceMode | null {
    const known = this.#modes.get(device);
    return known === undefined ? null : { xdp: known.xdp, reason: known.reason };
  }

  nameOf(ifindex: number): string | null {
    for (const [name, mode] of this.#modes) if (mode.ifindex === ifindex) return name;
    return null;
  }

  /** Detaches from every device. */
  remove(): void {
    this.#modes.clear();
    this.#attached.clear();
    this.#refused.clear();
    for (const ifindex of this.#driver.devices()) this.#driver.detach(ifindex);
  }

  /**
   * The device has a new name that the desired state does not contain yet. It keeps its program, because detaching it
   * would let everything pass until then.
   */
  #isBeingRenamed(ifindex: number, as: string): boolean {
    if (!this.#named.has(as) || this.#current.get(as) !== null) return false;
    return this.#devices.deviceName(ifindex) !== null;
  }

  /** Lower devices first: a device without a program evaluates nothing for its uppers. */
  #inLowerFirstOrder(): string[] {
    const depthOf = (name: string, most: number): number => {
      const lower = most === 0 ? null : lowerDeviceWithProgram(name, this.#current, this.#named);
      return lower === null ? 0 : 1 + depthOf(lower.name, most - 1);
    };
    const depths = new Map([...this.#named].map((name) => [name, depthOf(name, this.#named.size)]));
    return [...depths].toSorted(([, a], [, b]) => a - b).map(([name]) => name);
  }

  #attachTo(ifindex: number, name: string): DeviceMode {
    const attached = this.#driver.attach(ifindex);
    const mode = describe(attached);
    if (attached.mode === 'none') {
      this.#attached.delete(ifindex);
      this.#refused.set(ifindex, performance.now());
      return mode;
    }
    if (this.#attached.has(ifindex)) this.#repairs++;
    this.#attached.set(ifindex, { ...mode, name });
    this.#refused.delete(ifindex);
    return mode;
  }

  /** Returns the name of the device. */
  #reattach(ifindex: number): string {
    const name = this.nameOf(ifindex) ?? this.#attached.get(ifindex)?.name ?? '';
    const { xdp, reason } = this.#attachTo(ifindex, name);
    const known = this.#modes.get(name);
    if (known !== undefined) this.#modes.set(name, { ...known, xdp, reason });
    // Uppers evaluated by this device follow it; the next `attach` may give them programs of their own.
    for (const [upper, mode] of this.#modes)
      if (mode.lower === ifindex) this.#modes.set(upper, { ...mode, xdp });
    return name;
  }
}

/** The time until a refused device is tried again. */
const RETRY_MS = 1_000;

function planOf(
  device: Device | null,
  named: ReadonlySet<string>,
): { plan: DevicePlan; text: string } {
  const absent = { attach: false, reason: 'there is no such device' } as const;
  const plan = device === null ? absent : planDevice(device, named);
  return { plan, text: JSON.stringify(plan) };
}

function describe(attached: Attached): DeviceMode {
  if (attached.mode === 'none') return { xdp: 'none', reason: attached.reason };
  const remarks = [
    ...(attached.mode === 'tc' ? [tcReason(attached.refusal)] : []),
    ...(attached.pinned ? [] : ['no bpffs to pin it in, so it ends with the agent']),
  ];
  return { xdp: attached.mode, reason: remarks.length === 0 ? null : remarks.join('; ') };
}

/** Taken over from an earlier agent, the refusal is unknown. */
function tcReason(refusal: string | null): string {
  if (refusal === 'EBUSY' || refusal === 'EEXIST') return 'another XDP program is on this device';
  return `its driver supports no XDP program${refusal === null ? '' : ` (${refusal})`}`;
}
