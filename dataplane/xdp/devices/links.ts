import { createLink, type Descriptor } from '../../kernel/bpf/bpf.ts';
import { SystemError } from '../../kernel/native.ts';
import { hasFilter } from '../../kernel/netlink/tc.ts';
import {
  adoptLink,
  type Attachment,
  attachTc,
  filterAttachment,
  linkAttachment,
  TC_METHODS,
  type TcMethod,
} from './attachment.ts';
import { listDevices, readDevice } from './device.ts';
import { type Pins, succeeds } from './pins.ts';

/**
 * Where the program sees the packets of a device: by XDP in its driver, or at tc ingress, after the kernel has made a
 * buffer for each. XDP without help of the driver (generic) is later than tc ingress and copies most packets.
 */
export const HOOKS = ['native', 'tc'] as const;
export type Hook = (typeof HOOKS)[number];

export interface DeviceLink {
  readonly mode: Hook;
  readonly program: Attachment;
  /** Why XDP was refused, as an error code; null if it was not. */
  readonly refusal: string | null;
}

/** Options that tests of older kernels and drivers change. */
export interface LinkOptions {
  /** The hooks that are tried. */
  readonly hooks?: readonly Hook[];
  /** How programs are attached to tc, best first. */
  readonly tc?: readonly TcMethod[];
}

/** The error of a driver without XDP. */
const UNTRIED = 'EOPNOTSUPP';

/** The program for a hook. */
export type ProgramFor = (hook: Hook) => Descriptor;

/** The programs by device index. They are pinned if possible, so that they outlive the agent. */
export class Links {
  readonly #pins: Pins;
  readonly #options: LinkOptions;
  readonly #name: string;
  readonly #links = new Map<number, DeviceLink>();

  /** Takes over the programs of an earlier agent on devices that still exist. `name`: of their pins. */
  constructor(pins: Pins, options: LinkOptions = {}, name = 'xdp') {
    this.#pins = pins;
    this.#options = options;
    this.#name = name;
    for (const name of pins.names()) this.#adopt(name);
    if (options.tc?.includes('filter') !== false) this.#adoptFilters();
  }

  has(ifindex: number): boolean {
    return this.#links.has(ifindex);
  }

  devices(): number[] {
    return [...this.#links.keys()];
  }

  uses(hook: Hook): boolean {
    return [...this.#links.values()].some(({ mode }) => mode === hook);
  }

  /**
   * Attaches the program, by XDP if the device accepts it now. What is attached already is replaced in one step.
   * `hooks`: those that are tried. Throws `SystemError`.
   */
  attach(
    ifindex: number,
    programFor: ProgramFor,
    hooks: readonly Hook[] = this.#options.hooks ?? HOOKS,
  ): DeviceLink {
    const existing = this.#links.get(ifindex);
    const update = ({ mode, program }: DeviceLink): boolean =>
      succeeds(() => program.update(programFor(mode)));
    if (existing?.mode === 'native' && update(existing)) return existing;
    if (existing?.mode === 'native') this.detach(ifindex);
    const xdp = hooks.includes('native') ? this.#attachXdp(ifindex, programFor('native')) : UNTRIED;
    if (typeof xdp !== 'string') {
      // Detached last, so that no packet passes in between.
      if (existing?.mode === 'tc') discard(existing);
      this.#links.set(ifindex, xdp);
      return xdp;
    }
    if (existing?.mode === 'tc' && update(existing)) return existing;
    this.detach(ifindex);
    const pin = this.#pinName('tc', ifindex);
    const place = { ifindex, direction: 'ingress', pins: this.#pins, pin } as const;
    const program = attachTc(place, programFor('tc'), this.#options.tc ?? TC_METHODS);
    const made: DeviceLink = { mode: 'tc', program, refusal: xdp };
    this.#links.set(ifindex, made);
    return made;
  }

  /** Replaces the program of each device. */
  update(programFor: ProgramFor): void {
    for (const [ifindex, { mode, program }] of this.#links)
      if (!succeeds(() => program.update(programFor(mode)))) this.detach(ifindex);
  }

  detach(ifindex: number): void {
    const link = this.#links.get(ifindex);
    if (link === undefined) return;
    discard(link);
    this.#links.delete(ifindex);
  }

  /** Whether another program detached ours, or the device is gone. */
  isDead(ifindex: number): boolean {
    return this.#links.get(ifindex)?.program.alive() === false;
  }

  /** Ends the use of links; pinned ones stay attached. */
  close(): void {
    for (const { program } of this.#links.values()) program.close();
    this.#links.clear();
  }

  modeOf(ifindex: number): Hook | null {
    return this.#links.get(ifindex)?.mode ?? null;
  }

  /** Returns the error code of a refusal. */
  #attachXdp(ifindex: number, program: Descriptor): DeviceLink | string {
    try {
      const link = createLink(program, ifindex, 'xdp', 'native');
      const pin = this.#pinName('native', ifindex);
      const attachment = linkAttachment(link, this.#pins, pin, this.#pins.put(pin, link));
      return { mode: 'native', program: attachment, refusal: null };
    } catch (error) {
      if (error instanceof SystemError) return error.code;
      throw error;
    }
  }

  #adopt(name: string): void {
    const hook = HOOKS.find((one) => name.startsWith(`${this.#name}-${one}-`));
    if (hook === undefined) return;
    const ifindex = Number(name.slice(this.#pinName(hook, '').length));
    const program = adoptLink(this.#pins, name, ifindex);
    if (program !== null) this.#links.set(ifindex, { mode: hook, program, refusal: null });
  }

  #pinName(hook: Hook, ifindex: number | ''): string {
    return `${this.#name}-${hook}-${ifindex}`;
  }

  #adoptFilters(): void {
    for (const name of listDevices()) {
      const ifindex = readDevice(name)?.ifindex;
      if (ifindex === undefined || this.has(ifindex) || !hasFilter(ifindex, 'ingress')) continue;
      const program = filterAttachment(ifindex, 'ingress');
      this.#links.set(ifindex, { mode: 'tc', program, refusal: null });
    }
  }
}

function discard({ program }: DeviceLink): void {
  succeeds(() => program.detach());
  program.close();
}
