import type { DeviceMode } from '../devices.ts';
import { type Device, type DevicePlan, planDevice } from './device.ts';
import type { Attached, EarlyDropDriver, EarlySettings } from './driver.ts';

type ReadDevice = (name: string) => Device | null;

interface KnownDevice extends DeviceMode {
  readonly ifindex: number | null;
  /** As text: another one asks for another look. */
  readonly plan: string;
}

/** The named devices, and how what is loaded is attached to each. */
export class Attachments {
  readonly #driver: EarlyDropDriver;
  readonly #readDevice: ReadDevice;
  #named: ReadonlySet<string> = new Set();
  /** What the named devices were at the last look. */
  #seen: ReadonlyMap<string, Device | null> = new Map();
  readonly #modes = new Map<string, KnownDevice>();
  /** By index: devices that our programs are on, as far as we know. */
  readonly #attached = new Map<number, DeviceMode>();
  #repairs = 0;

  constructor(driver: EarlyDropDriver, readDevice: ReadDevice) {
    this.#driver = driver;
    this.#readDevice = readDevice;
  }

  /** How often somebody else's doing was undone. */
  get repairs(): number {
    return this.#repairs;
  }

  /** What these devices are now; `vlans` and `attach` go by that. */
  look(named: readonly string[]): void {
    this.#named = new Set(named);
    this.#seen = new Map(named.map((name) => [name, this.#readDevice(name)]));
  }

  /** VLANs over devices that it is attached to, and that are judged too. */
  vlans(): EarlySettings['vlans'] {
    return [...this.#seen.values()].flatMap((device) => {
      const plan = device === null ? null : planDevice(device, this.#named);
      if (device === null || plan === null || !plan.attach) return [];
      return plan.vlans.map((outer) => ({ ifindex: device.ifindex, outer, inner: 0 }));
    });
  }

  /** On every named device that it may be on, and off all others. */
  attach(): void {
    const driver = this.#driver;
    const wanted = new Set<number>();
    for (const name of this.#named) {
      const device = this.#seen.get(name) ?? null;
      const { plan, text } = planOf(device, this.#named);
      const ifindex = device?.ifindex ?? null;
      if (ifindex === null || !plan.attach) {
        const reason = plan.attach ? null : plan.reason;
        this.#modes.set(name, { xdp: 'none', reason, ifindex, plan: text });
        continue;
      }
      wanted.add(ifindex);
      // By its index: a device that only changed its name stays as it is.
      const known = this.#attached.get(ifindex);
      const mode =
        known !== undefined && driver.attached(ifindex) ? known : this.#attachTo(ifindex);
      this.#modes.set(name, { xdp: mode.xdp, reason: mode.reason, ifindex, plan: text });
    }
    for (const ifindex of driver.devices()) if (!wanted.has(ifindex)) driver.detach(ifindex);
    for (const ifindex of this.#attached.keys())
      if (!wanted.has(ifindex)) this.#attached.delete(ifindex);
    for (const name of this.#modes.keys()) if (!this.#named.has(name)) this.#modes.delete(name);
  }

  /** A device is another now, or is to be used otherwise, or somebody took our programs off. */
  disturbed(): boolean {
    return [...this.#modes].some(([name, { ifindex, xdp, plan }]) => {
      const device = this.#readDevice(name);
      if (ifindex !== (device?.ifindex ?? null)) return true;
      if (plan !== planOf(device, this.#named).text) return true;
      return xdp !== 'none' && ifindex !== null && !this.#driver.attached(ifindex);
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
    for (const ifindex of this.#driver.devices()) this.#driver.detach(ifindex);
  }

  #attachTo(ifindex: number): DeviceMode {
    if (this.#attached.has(ifindex)) this.#repairs++;
    const attached = this.#driver.attach(ifindex);
    const mode = describe(attached);
    if (attached.mode === 'none') this.#attached.delete(ifindex);
    else this.#attached.set(ifindex, mode);
    return mode;
  }
}

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
