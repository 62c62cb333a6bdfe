import { type ChangedPort, portIndex } from '../../filters/changes.ts';
import { type Driver, DriverError } from '../driver.ts';
import { type Learnt, newestFirst, putBack } from './kept-state.ts';
import { addressOf } from './kernel-set.ts';
import { protocolNumber } from '../names.ts';

/** About a megabyte of text, half a second of the kernel; what else there is to apply comes between. */
const A_TRANSACTION = 16_384;

/**
 * What the kernel had learnt and the transaction that wrote the table anew had no room for. It is put back after it,
 * newest first. No more than the sets had held, and each element only until its time is up.
 */
export class LearntLater {
  readonly #driver: Driver;
  readonly #size: number;
  #elements: readonly Learnt[] = [];
  #next = 0;

  constructor(driver: Driver, size = A_TRANSACTION) {
    this.#driver = driver;
    this.#size = size;
  }

  get done(): boolean {
    return this.#next >= this.#elements.length;
  }

  /** The table was written anew: what was still to come of before comes too. */
  add(rest: readonly Learnt[]): void {
    if (rest.length === 0) return;
    const all = new Map<string, Learnt>();
    for (const element of newestFirst([...rest, ...this.#elements.slice(this.#next)])) {
      const key = `${element.set} ${element.fields.join(' ')}`;
      if (!all.has(key)) all.set(key, element);
    }
    this.#set([...all.values()]);
  }

  /** Everybody on these ports begins anew: nobody is validated by having been. */
  forget(ports: readonly ChangedPort[]): void {
    if (this.done || ports.length === 0) return;
    this.#set(withoutPorts(this.#elements.slice(this.#next), ports));
  }

  /**
   * One transaction of it. False: it was refused, for one because those who came meanwhile need the room, and that was
   * all. Throws what is no `DriverError`.
   */
  async putSomeBack(): Promise<boolean> {
    if (this.done) return true;
    const some = this.#elements.slice(this.#next, this.#next + this.#size);
    this.#next += some.length;
    try {
      await this.#driver.apply(putBack(some));
    } catch (error) {
      this.clear();
      if (!(error instanceof DriverError)) throw error;
      return false;
    }
    if (this.done) this.clear();
    return true;
  }

  clear(): void {
    this.#set([]);
  }

  #set(elements: readonly Learnt[]): void {
    this.#elements = elements;
    this.#next = 0;
  }
}

/** Those to no port of these. */
export function withoutPorts(elements: readonly Learnt[], ports: readonly ChangedPort[]): Learnt[] {
  const asked = portIndex(ports);
  const [tcp, udp] = [protocolNumber('tcp'), protocolNumber('udp')];
  return elements.filter(({ set, family, fields }) => {
    if (set.startsWith('denied')) return true;
    const [, , server = '', port = ''] = fields;
    const value = addressOf(server);
    const protocol = set.startsWith('validated') ? udp : tcp;
    return value !== null && asked(protocol, Number(port), () => value, family) === null;
  });
}
