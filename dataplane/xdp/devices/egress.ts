import type { Descriptor } from '../../kernel/bpf/bpf.ts';
import { adoptLink, type Attachment, attachTc, TC_METHODS, type TcMethod } from './attachment.ts';
import { type Pins, succeeds } from './pins.ts';

/**
 * The egress program on every device that packets leave by. A reply may enter by another device than its request left
 * by.
 */
export class Egress {
  readonly #pins: Pins;
  readonly #methods: readonly TcMethod[];
  readonly #watches = new Map<number, Attachment>();

  /** Takes over the links of an earlier agent. `methods`: in order of preference; tests of older kernels change it. */
  constructor(pins: Pins, methods: readonly TcMethod[] = TC_METHODS) {
    this.#pins = pins;
    this.#methods = methods;
    for (const name of pins.names()) {
      const ifindex = Number(/^egress-(\d+)$/.exec(name)?.[1] ?? 0);
      const link = ifindex === 0 ? null : adoptLink(pins, name, ifindex);
      if (link !== null) this.#watches.set(ifindex, link);
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

  /** The programs stay attached if they are pinned. */
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
    const pin = `egress-${ifindex}`;
    const place = { ifindex, direction: 'egress', pins: this.#pins, pin } as const;
    return succeeds(() => this.#watches.set(ifindex, attachTc(place, program, this.#methods)));
  }

  #detach(ifindex: number, watch: Attachment): void {
    succeeds(() => watch.detach());
    watch.close();
    this.#watches.delete(ifindex);
  }
}
