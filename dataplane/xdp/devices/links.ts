import {
  closeDescriptor,
  createLink,
  type Descriptor,
  detachLink,
  linkDevice,
  updateLink,
  type XdpMode,
} from '../../kernel/bpf/bpf.ts';
import { SystemError } from '../../kernel/native.ts';
import { type Pins, ignoreSystemError } from './pins.ts';

export interface DeviceLinks {
  readonly mode: XdpMode;
  readonly earlyDrop: Descriptor;
  /** The link outlives the agent. */
  readonly pinned: boolean;
  /** Why native mode was refused, as an error code; null if it was not. */
  readonly refusal: string | null;
}

/** The XDP links by device index. They are pinned if possible, so that they outlive the agent. */
export class Links {
  readonly #pins: Pins;
  readonly #links = new Map<number, DeviceLinks>();

  /** Takes over the links of an earlier agent on devices that still exist. */
  constructor(pins: Pins) {
    this.#pins = pins;
    for (const name of pins.names()) this.#adopt(name);
  }

  has(ifindex: number): boolean {
    return this.#links.has(ifindex);
  }

  devices(): number[] {
    return [...this.#links.keys()];
  }

  /** Attaches the program, or replaces the attached one in one step. Throws `SystemError`. */
  attach(ifindex: number, program: Descriptor): DeviceLinks {
    const existing = this.#links.get(ifindex);
    if (existing !== undefined) {
      if (tryUpdate(existing, program)) return existing;
      this.#forget(ifindex, existing);
    }
    const { link, mode, refusal } = linkInBestMode(program, ifindex);
    const pinned = this.#pins.put(`xdp-${mode}-${ifindex}`, link);
    const made = { mode, earlyDrop: link, pinned, refusal };
    this.#links.set(ifindex, made);
    return made;
  }

  detach(ifindex: number): void {
    const links = this.#links.get(ifindex);
    if (links === undefined) return;
    ignoreSystemError(() => detachLink(links.earlyDrop));
    this.#forget(ifindex, links);
  }

  /** Whether another program detached the link, or the device is gone. */
  isDead(ifindex: number): boolean {
    const links = this.#links.get(ifindex);
    if (links === undefined) return false;
    return linkDevice(links.earlyDrop) === 0;
  }

  /** Pinned links stay attached. */
  close(): void {
    for (const { earlyDrop } of this.#links.values()) closeDescriptor(earlyDrop);
    this.#links.clear();
  }

  #forget(ifindex: number, { mode, earlyDrop }: DeviceLinks): void {
    this.#pins.remove(`xdp-${mode}-${ifindex}`);
    closeDescriptor(earlyDrop);
    this.#links.delete(ifindex);
  }

  #adopt(name: string): void {
    const [, mode, index] = /^xdp-(native|generic)-(\d+)$/.exec(name) ?? [];
    if (mode === undefined) return;
    const ifindex = Number(index);
    const earlyDrop = this.#pins.adopt(name, (link) => linkDevice(link) === ifindex);
    if (earlyDrop === null) return;
    const adopted = { mode: mode as XdpMode, earlyDrop, pinned: true, refusal: null };
    this.#links.set(ifindex, adopted);
  }
}

/** Returns false if the device is gone together with its link. */
function tryUpdate({ earlyDrop }: DeviceLinks, program: Descriptor): boolean {
  try {
    updateLink(earlyDrop, program);
    return true;
  } catch (error) {
    if (error instanceof SystemError) return false;
    throw error;
  }
}

/** Tries native mode, then generic mode. Throws the error of the last one. */
function linkInBestMode(
  program: Descriptor,
  ifindex: number,
): { link: Descriptor; mode: XdpMode; refusal: string | null } {
  try {
    return { link: createLink(program, ifindex, 'xdp', 'native'), mode: 'native', refusal: null };
  } catch (error) {
    if (!(error instanceof SystemError)) throw error;
    const link = createLink(program, ifindex, 'xdp', 'generic');
    return { link, mode: 'generic', refusal: error.code };
  }
}
