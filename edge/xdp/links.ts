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
import type { Programs } from './map-set.ts';
import type { Pins } from './pins.ts';

export interface DeviceLinks {
  readonly mode: XdpMode;
  readonly earlyDrop: Descriptor;
  /** Null: the kernel cannot (before 6.6), so replies cannot be told from a flood. */
  readonly rememberFlow: Descriptor | null;
}

const MODES = Object.keys(XDP_MODES) as XdpMode[];

/** The programs on one device each, by its index. Pinned where they can be, so that they outlive the agent. */
export class Links {
  readonly #pins: Pins;
  readonly #links = new Map<number, DeviceLinks>();

  /** Takes over what an earlier agent left on devices that are still there. */
  constructor(pins: Pins) {
    this.#pins = pins;
    for (const name of pins.names()) this.#adopt(name);
  }

  get(ifindex: number): DeviceLinks | null {
    return this.#links.get(ifindex) ?? null;
  }

  devices(): number[] {
    return [...this.#links.keys()];
  }

  /** Puts programs on a device, or in place of those there: no packet goes by unjudged. Throws `SystemError`. */
  attach(ifindex: number, programs: Programs): DeviceLinks {
    const there = this.#links.get(ifindex);
    if (there !== undefined) {
      if (this.#update(there, programs)) return there;
      this.#forget(ifindex, there);
    }
    const { link, mode } = inSomeMode(programs.earlyDrop, ifindex);
    const made = { mode, earlyDrop: link, rememberFlow: attachEgress(programs, ifindex) };
    this.#pins.put(`xdp-${mode}-${ifindex}`, made.earlyDrop);
    if (made.rememberFlow !== null) this.#pins.put(`egress-${ifindex}`, made.rememberFlow);
    this.#links.set(ifindex, made);
    return made;
  }

  detach(ifindex: number): void {
    const links = this.#links.get(ifindex);
    if (links === undefined) return;
    for (const link of [links.earlyDrop, links.rememberFlow]) if (link !== null) tryDetach(link);
    this.#forget(ifindex, links);
  }

  /** Somebody detached it, or the device went away. */
  isDead(ifindex: number): boolean {
    const links = this.#links.get(ifindex);
    if (links === undefined) return false;
    const egress = links.rememberFlow;
    return linkDevice(links.earlyDrop) === 0 || (egress !== null && linkDevice(egress) === 0);
  }

  /** Leaves everything attached where it is pinned. */
  close(): void {
    for (const { earlyDrop, rememberFlow } of this.#links.values()) {
      closeDescriptor(earlyDrop);
      if (rememberFlow !== null) closeDescriptor(rememberFlow);
    }
    this.#links.clear();
  }

  #update(links: DeviceLinks, programs: Programs): boolean {
    try {
      if (links.rememberFlow !== null) updateLink(links.rememberFlow, programs.rememberFlow);
      updateLink(links.earlyDrop, programs.earlyDrop);
      return true;
    } catch (error) {
      // The device went away and took the link with it.
      if (error instanceof SystemError) return false;
      throw error;
    }
  }

  #forget(ifindex: number, { mode, earlyDrop, rememberFlow }: DeviceLinks): void {
    this.#pins.remove(`xdp-${mode}-${ifindex}`);
    this.#pins.remove(`egress-${ifindex}`);
    closeDescriptor(earlyDrop);
    if (rememberFlow !== null) closeDescriptor(rememberFlow);
    this.#links.delete(ifindex);
  }

  #adopt(name: string): void {
    const [, mode, index] = /^xdp-(native|generic)-(\d+)$/.exec(name) ?? [];
    if (mode === undefined) return;
    const ifindex = Number(index);
    const alive = (link: Descriptor): boolean => linkDevice(link) === ifindex;
    const earlyDrop = this.#pins.adopt(name, alive);
    const rememberFlow = this.#pins.adopt(`egress-${ifindex}`, alive);
    if (earlyDrop !== null) {
      this.#links.set(ifindex, { mode: mode as XdpMode, earlyDrop, rememberFlow });
    } else if (rememberFlow !== null) {
      this.#pins.remove(`egress-${ifindex}`);
      closeDescriptor(rememberFlow);
    }
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

function attachEgress({ rememberFlow }: Programs, ifindex: number): Descriptor | null {
  try {
    return createLink(rememberFlow, ifindex, 'tcxEgress', null);
  } catch (error) {
    if (error instanceof SystemError) return null;
    throw error;
  }
}

function tryDetach(link: Descriptor): void {
  try {
    detachLink(link);
  } catch (error) {
    if (!(error instanceof SystemError)) throw error;
  }
}
