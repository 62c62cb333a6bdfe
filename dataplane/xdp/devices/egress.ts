import {
  closeDescriptor,
  createLink,
  type Descriptor,
  detachLink,
  linkDevice,
  updateLink,
} from '../../kernel/bpf/bpf.ts';
import { SystemError } from '../../kernel/native.ts';
import {
  attachEgressFilter,
  detachEgressFilter,
  hasEgressFilter,
} from '../../kernel/netlink/tc.ts';
import type { Pins } from './pins.ts';

/** The egress program on one device. */
interface EgressWatch {
  /** Replaces the program in one step. Throws `SystemError` if the device is gone. */
  update(program: Descriptor): void;
  alive(): boolean;
  detach(): void;
  /** The program stays attached if it is pinned or a filter. */
  close(): void;
}

export type EgressMethod = 'link' | 'filter';
/** Links can be pinned and identified as ours. Kernels before 6.6 support only filters. */
const METHODS: readonly EgressMethod[] = ['link', 'filter'];

/**
 * The egress program on every device that packets leave by. A reply may enter by another device than its request left
 * by.
 */
export class Egress {
  readonly #pins: Pins;
  readonly #methods: readonly EgressMethod[];
  readonly #watches = new Map<number, EgressWatch>();

  /** Takes over the links of an earlier agent. `methods`: in order of preference; tests of older kernels change it. */
  constructor(pins: Pins, methods: readonly EgressMethod[] = METHODS) {
    this.#pins = pins;
    this.#methods = methods;
    for (const name of pins.names()) {
      const ifindex = Number(/^egress-(\d+)$/.exec(name)?.[1] ?? 0);
      if (ifindex === 0) continue;
      const link = pins.adopt(name, (one) => linkDevice(one) === ifindex);
      if (link !== null) this.#watches.set(ifindex, linkWatch(ifindex, link, pins));
    }
  }

  /** Whether the program is attached to exactly these devices. */
  isOn(devices: readonly number[]): boolean {
    if (devices.length !== this.#watches.size) return false;
    return devices.every((ifindex) => this.#watches.get(ifindex)?.alive() === true);
  }

  /** Attaches to these devices and detaches from all others. Returns the devices where that failed. */
  watch(devices: readonly number[], program: Descriptor): number[] {
    const wanted = new Set(devices);
    for (const [ifindex, watch] of this.#watches)
      if (!wanted.has(ifindex)) this.#detach(ifindex, watch);
    return devices.filter((ifindex) => !this.#attach(ifindex, program));
  }

  watchNothing(): void {
    for (const [ifindex, watch] of this.#watches) this.#detach(ifindex, watch);
  }

  update(program: Descriptor): void {
    for (const [ifindex, watch] of this.#watches) {
      if (!succeeds(() => watch.update(program))) this.#detach(ifindex, watch);
    }
  }

  /** The programs stay attached if they are pinned or filters. */
  close(): void {
    for (const watch of this.#watches.values()) watch.close();
    this.#watches.clear();
  }

  #attach(ifindex: number, program: Descriptor): boolean {
    const existing = this.#watches.get(ifindex);
    if (existing !== undefined) {
      if (existing.alive() && succeeds(() => existing.update(program))) return true;
      this.#detach(ifindex, existing);
    }
    return this.#methods.some((method) =>
      succeeds(() =>
        this.#watches.set(ifindex, attachProgram(method, ifindex, program, this.#pins)),
      ),
    );
  }

  #detach(ifindex: number, watch: EgressWatch): void {
    succeeds(() => watch.detach());
    watch.close();
    this.#watches.delete(ifindex);
  }
}

function succeeds(action: () => unknown): boolean {
  try {
    action();
    return true;
  } catch (error) {
    if (error instanceof SystemError) return false;
    throw error;
  }
}

function attachProgram(
  method: EgressMethod,
  ifindex: number,
  program: Descriptor,
  pins: Pins,
): EgressWatch {
  if (method === 'filter') {
    attachEgressFilter(ifindex, program, PROGRAM_NAME);
    return filterWatch(ifindex);
  }
  const link = createLink(program, ifindex, 'tcxEgress', null);
  pins.put(pinName(ifindex), link);
  return linkWatch(ifindex, link, pins);
}

function pinName(ifindex: number): string {
  return `egress-${ifindex}`;
}

const PROGRAM_NAME = 'portcullis';

function linkWatch(ifindex: number, link: Descriptor, pins: Pins): EgressWatch {
  return {
    update: (program) => updateLink(link, program),
    alive: () => linkDevice(link) !== 0,
    detach: () => {
      pins.remove(pinName(ifindex));
      detachLink(link);
    },
    close: () => closeDescriptor(link),
  };
}

function filterWatch(ifindex: number): EgressWatch {
  return {
    update: (program) => attachEgressFilter(ifindex, program, PROGRAM_NAME),
    alive: () => hasEgressFilter(ifindex),
    detach: () => detachEgressFilter(ifindex),
    close: () => {},
  };
}
