import {
  closeDescriptor,
  createLink,
  type Descriptor,
  detachLink,
  linkDevice,
  updateLink,
  XDP_MODES,
  type XdpMode,
} from '../kernel/bpf.ts';
import { SystemError } from '../kernel/native.ts';
import { adoptEgress, type EgressWatch, type EgressWay, watchEgress } from './egress.ts';
import type { Programs } from './map-set.ts';
import { type Pins, unlessGone } from './pins.ts';

export interface DeviceLinks {
  readonly mode: XdpMode;
  readonly earlyDrop: Descriptor;
  /** Null: the kernel cannot, so replies cannot be told from a flood. */
  readonly egress: EgressWatch | null;
  /** It outlives the agent. */
  readonly pinned: boolean;
}

const MODES = Object.keys(XDP_MODES) as XdpMode[];

/** The programs on one device each, by its index. Pinned where they can be, so that they outlive the agent. */
export class Links {
  readonly #pins: Pins;
  readonly #ways: readonly EgressWay[] | undefined;
  readonly #links = new Map<number, DeviceLinks>();

  /** Takes over what an earlier agent left on devices that are still there. `ways`: for tests. */
  constructor(pins: Pins, ways?: readonly EgressWay[]) {
    this.#pins = pins;
    this.#ways = ways;
    for (const name of pins.names()) this.#adopt(name);
  }

  has(ifindex: number): boolean {
    return this.#links.has(ifindex);
  }

  devices(): number[] {
    return [...this.#links.keys()];
  }

  /** Puts programs on a device, or in place of those there: no packet goes by unjudged. Throws `SystemError`. */
  attach(ifindex: number, programs: Programs): DeviceLinks {
    const there = this.#links.get(ifindex);
    if (there !== undefined) {
      if (updated(there, programs)) return there;
      this.#forget(ifindex, there);
    }
    // What leaves is seen before anything is dropped.
    const egress = watchEgress(ifindex, programs.rememberFlow, this.#pins, this.#ways);
    try {
      const { link, mode } = inSomeMode(programs.earlyDrop, ifindex);
      const pinned = this.#pins.put(`xdp-${mode}-${ifindex}`, link);
      const made = { mode, earlyDrop: link, egress, pinned };
      this.#links.set(ifindex, made);
      return made;
    } catch (error) {
      if (egress !== null) takeOff(egress);
      throw error;
    }
  }

  detach(ifindex: number): void {
    const links = this.#links.get(ifindex);
    if (links === undefined) return;
    unlessGone(() => detachLink(links.earlyDrop));
    this.#forget(ifindex, links);
  }

  /** Somebody detached it, or the device went away. */
  isDead(ifindex: number): boolean {
    const links = this.#links.get(ifindex);
    if (links === undefined) return false;
    return linkDevice(links.earlyDrop) === 0 || links.egress?.alive() === false;
  }

  /** Leaves everything attached where it is pinned. */
  close(): void {
    for (const { earlyDrop, egress } of this.#links.values()) {
      closeDescriptor(earlyDrop);
      egress?.close();
    }
    this.#links.clear();
  }

  #forget(ifindex: number, { mode, earlyDrop, egress }: DeviceLinks): void {
    this.#pins.remove(`xdp-${mode}-${ifindex}`);
    closeDescriptor(earlyDrop);
    if (egress !== null) takeOff(egress);
    this.#links.delete(ifindex);
  }

  #adopt(name: string): void {
    const [, mode, index] = /^xdp-(native|generic)-(\d+)$/.exec(name) ?? [];
    if (mode === undefined) return;
    const ifindex = Number(index);
    const earlyDrop = this.#pins.adopt(name, (link) => linkDevice(link) === ifindex);
    const egress = adoptEgress(ifindex, this.#pins);
    if (earlyDrop !== null && egress !== null) {
      this.#links.set(ifindex, { mode: mode as XdpMode, earlyDrop, egress, pinned: true });
      return;
    }
    // Half of a pair is of no use: both are attached anew.
    this.#pins.remove(name);
    if (earlyDrop !== null) closeDescriptor(earlyDrop);
    if (egress !== null) takeOff(egress);
  }
}

/** False: the device went away and took the link with it. */
function updated({ earlyDrop, egress }: DeviceLinks, programs: Programs): boolean {
  try {
    egress?.update(programs.rememberFlow);
    updateLink(earlyDrop, programs.earlyDrop);
    return true;
  } catch (error) {
    if (error instanceof SystemError) return false;
    throw error;
  }
}

function inSomeMode(program: Descriptor, ifindex: number): { link: Descriptor; mode: XdpMode } {
  let reason: unknown = null;
  for (const mode of MODES) {
    try {
      return { link: createLink(program, ifindex, 'xdp', mode), mode };
    } catch (error) {
      // The first says why the better mode does not work; the last, why none does.
      reason = error;
    }
  }
  throw reason;
}

function takeOff(egress: EgressWatch): void {
  unlessGone(() => egress.detach());
  egress.close();
}
