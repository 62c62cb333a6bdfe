import { ProgramRefused } from '../../kernel/bpf/bpf-program.ts';
import { SystemError } from '../../kernel/native.ts';
import { type Hook, Links, type ProgramFor } from '../devices/links.ts';
import type { Pins } from '../devices/pins.ts';
import type { AnswerDevice } from '../driver/driver.ts';

/**
 * The program that forwards answers, on the devices that they enter by. Where it cannot be attached the network stack
 * forwards them.
 */
export class AnswerLinks {
  readonly #links: Links;
  /** The kernel refused the program. */
  #isRefused = false;

  /** Takes over the programs of an earlier agent. */
  constructor(pins: Pins) {
    this.#links = new Links(pins, { tc: ['link'] }, 'xdp-answers');
  }

  /** Attaches to these devices and detaches from all others. */
  attach(devices: readonly AnswerDevice[], programFor: ProgramFor): void {
    const links = this.#links;
    const wanted = new Map(devices.map(({ ifindex, hooks }) => [ifindex, hooks]));
    for (const ifindex of links.devices()) {
      const hook = links.modeOf(ifindex);
      const isWanted = hook !== null && wanted.get(ifindex)?.includes(hook) === true;
      if (!isWanted || links.isDead(ifindex)) links.detach(ifindex);
    }
    for (const { ifindex, hooks } of devices)
      if (!links.has(ifindex)) this.#attempt(() => links.attach(ifindex, programFor, hooks));
  }

  detach(ifindex: number): void {
    this.#links.detach(ifindex);
  }

  /** Replaces the program of each device. */
  update(programFor: ProgramFor): void {
    this.#attempt(() => this.#links.update(programFor));
    if (this.#isRefused) this.attach([], programFor);
  }

  /** The hook of each program that is attached, by the index of its device. */
  hooks(): ReadonlyMap<number, Hook> {
    const found = new Map<number, Hook>();
    for (const ifindex of this.#links.devices()) {
      const hook = this.#links.modeOf(ifindex);
      if (hook !== null && !this.#links.isDead(ifindex)) found.set(ifindex, hook);
    }
    return found;
  }

  /** The programs stay attached if they are pinned. */
  close(): void {
    this.#links.close();
  }

  #attempt(action: () => unknown): void {
    if (this.#isRefused) return;
    try {
      action();
    } catch (error) {
      if (error instanceof ProgramRefused) this.#isRefused = true;
      else if (!(error instanceof SystemError)) throw error;
    }
  }
}
