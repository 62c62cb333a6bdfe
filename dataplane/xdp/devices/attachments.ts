import {
  type Device,
  type DeviceMode,
  type DevicePlan,
  lowerDeviceWithProgram,
  planDevice,
} from './device.ts';
import type { Attached, EarlyDropDriver, EarlySettings } from '../driver/driver.ts';

export interface Devices {
  /** Null: there is no such device (now). */
  readonly readDevice: (name: string) => Device | null;
  /** What the device of this index is called now; null: there is none (any more). */
  readonly deviceName: (ifindex: number) => string | null;
}
interface AttachedAs extends DeviceMode {
  /** What the device was called when it was named. */
  readonly name: string;
}

interface KnownDevice extends DeviceMode {
  readonly ifindex: number | null;
  /** The device lower whose program judges its packets; null: it has one of its own, or none does. */
  readonly lower: number | null;
  /** As text: another one asks for another look. */
  readonly plan: string;
}

/** The named devices, and how what is loaded is attached to each. */
export class Attachments {
  readonly #driver: EarlyDropDriver;
  readonly #devices: Devices;
  #named: ReadonlySet<string> = new Set();
  /** What the named devices were at the last look. */
  #current: ReadonlyMap<string, Device | null> = new Map();
  readonly #modes = new Map<string, KnownDevice>();
  /** By index: devices that our programs are on, as far as we know. */
  readonly #attached = new Map<number, AttachedAs>();
  /** By index: devices that they should be on, and when the kernel refused it last. */
  readonly #refused = new Map<number, number>();
  #repairs = 0;

  constructor(driver: EarlyDropDriver, devices: Devices) {
    this.#driver = driver;
    this.#devices = devices;
  }

  /** How often somebody else's doing was undone. */
  get repairs(): number {
    return this.#repairs;
  }

  /** What these devices are now; `vlans` and `attach` go by that. */
  readDevices(named: readonly string[]): void {
    this.#named = new Set(named);
    this.#current = new Map(named.map((name) => [name, this.#devices.readDevice(name)]));
  }

  /** VLANs over devices that it is attached to, and that are judged too. */
  vlans(): EarlySettings['vlans'] {
    return [...this.#current.values()].flatMap((device) => {
      const plan = device === null ? null : planDevice(device, this.#named);
      if (device === null || plan === null || !plan.attach) return [];
      return plan.vlans.map((outer) => ({ ifindex: device.ifindex, outer, inner: 0 }));
    });
  }

  /** On every named device that it may be on, and off all others. */
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
        const reason = `its packets are judged on ${lower.name}`;
        const mode = { xdp: lowerState.xdp, reason, lower: lower.ifindex };
        this.#modes.set(name, { ...mode, ifindex, plan: text });
        continue;
      }
      wanted.add(ifindex);
      // By its index: a device that only changed its name stays as it is.
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
   * Puts our programs back where somebody took them off, and where somebody else's are gone that kept them out. Goes by
   * what the last `attach` knew and looks at nothing but our programs: some microseconds. Answers what devices
   * were changed.
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

  /** Somebody took our programs off; looks at nothing else. */
  get isDetached(): boolean {
    return [...this.#attached.keys()].some((ifindex) => !this.#driver.attached(ifindex));
  }

  /** A device is another now, or is to be used otherwise, or somebody took our programs off. */
  hasChanged(): boolean {
    return [...this.#modes].some(([name, { ifindex, lower, xdp, plan }]) => {
      const device = this.#devices.readDevice(name);
      if (ifindex !== (device?.ifindex ?? null)) return true;
      if (plan !== planOf(device, this.#named).text) return true;
      const attachedTo = lower ?? ifindex;
      return xdp !== 'none' && attachedTo !== null && !this.#driver.attached(attachedTo);
    });
  }

  /** It sees all that enters by the named devices, and there are some. */
  get isComplete(): boolean {
    return this.#modes.size > 0 && [...this.#modes.values()].every(({ xdp }) => xdp !== 'none');
  }

  /** Null: it is none of the named ones. */
  modeOf(device: string): DeviceMode | null {
    const known = this.#modes.get(device);
    return known === undefined ? null : { xdp: known.xdp, reason: known.reason };
  }

  nameOf(ifindex: number): string | null {
    for (const [name, mode] of this.#modes) if (mode.ifindex === ifindex) return name;
    return null;
  }

  /** Off every device. */
  remove(): void {
    this.#modes.clear();
    this.#attached.clear();
    this.#refused.clear();
    for (const ifindex of this.#driver.devices()) this.#driver.detach(ifindex);
  }

  /**
   * It has another name, and those who name devices for us have not heard of it yet: it is judged under its new name
   * from then on, and taken off in between it would let everything pass.
   */
  #isBeingRenamed(ifindex: number, as: string): boolean {
    if (!this.#named.has(as) || this.#current.get(as) !== null) return false;
    return this.#devices.deviceName(ifindex) !== null;
  }

  /** Those that others are built upon first: one that cannot be attached to judges for nobody. */
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

  /** What becomes of it is said to whoever asks for modes. Answers its name. */
  #reattach(ifindex: number): string {
    const name = this.nameOf(ifindex) ?? this.#attached.get(ifindex)?.name ?? '';
    const { xdp, reason } = this.#attachTo(ifindex, name);
    const known = this.#modes.get(name);
    if (known !== undefined) this.#modes.set(name, { ...known, xdp, reason });
    // Whoever is judged by it is not for as long; the next `attach` gives them programs of their own.
    for (const [upper, mode] of this.#modes)
      if (mode.lower === ifindex) this.#modes.set(upper, { ...mode, xdp });
    return name;
  }
}

/** Once refused, the kernel is asked again so often. */
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
    ...(attached.mode === 'generic'
      ? [
          `its driver takes no XDP program${attached.refusal === null ? '' : ` (${attached.refusal})`}`,
        ]
      : []),
    ...(attached.pinned ? [] : ['no bpffs to pin it in: it ends with the agent']),
  ];
  return { xdp: attached.mode, reason: remarks.length === 0 ? null : remarks.join('; ') };
}
