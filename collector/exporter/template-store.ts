import { putBounded } from './put-bounded.ts';
import { SamplingRates } from './sampling-rates.ts';
import type { Template } from '../decode/template.ts';

/** The most used templates of one exporter, and the most unused ones: a flood of new templates evicts only unused ones. */
const MAX_TEMPLATES = 512;
/** The most unreadable templates whose data sets are known as such. */
const MAX_REFUSED = 512;
/** The most data sets that wait for a template, and their bytes. */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 131_072;
/** Older data sets are dropped: they describe no present traffic. */
const MAX_WAIT_MS = 30_000;

export interface WaitingSet {
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly arrivedMs: number;
  /** The arrival of the datagram. */
  readonly exportMs: number;
  readonly uptimeMs: number | null;
  readonly sentMs: number;
}

/** The templates and sampling rates of one exporter in one format. All of it is bounded. */
export class TemplateStore {
  readonly rates = new SamplingRates();
  readonly #used = new Map<string, Template>();
  readonly #fresh = new Map<string, Template>();
  readonly #refused = new Map<string, true>();
  #waiting: WaitingSet[] = [];
  #waitingBytes = 0;

  /**
   * The domain that numbers templates and samplers: an observation domain of one exporting process, which is known by the
   * port that it sends from. Several processes may send from one address. RFC 7011 sections 8 and 8.4.
   */
  static domainKey(port: number, domain: number): string {
    return `${port}/${domain}`;
  }

  static key(domainKey: string, id: number): string {
    return `${domainKey}/${id}`;
  }

  /** Returns null if the template is known to be unreadable, and undefined if it is unknown. */
  find(key: string): Template | null | undefined {
    const known = this.#used.get(key);
    if (known !== undefined) return known;
    const fresh = this.#fresh.get(key);
    if (fresh === undefined) return this.#refused.has(key) ? null : undefined;
    this.#fresh.delete(key);
    putBounded(this.#used, key, fresh, MAX_TEMPLATES);
    return fresh;
  }

  add(key: string, template: Template): void {
    this.#refused.delete(key);
    if (this.#used.has(key)) putBounded(this.#used, key, template, MAX_TEMPLATES);
    else putBounded(this.#fresh, key, template, MAX_TEMPLATES);
  }

  /** Notes that a template is unreadable. The previous one describes its data no more. */
  refuse(key: string): void {
    this.withdraw(key);
    putBounded(this.#refused, key, true, MAX_REFUSED);
  }

  withdraw(key: string): void {
    this.#used.delete(key);
    this.#fresh.delete(key);
    this.#refused.delete(key);
  }

  /** Removes all templates of a kind in a domain. RFC 7011 section 8.1. */
  withdrawAll(domainKey: string, kind: Template['kind']): void {
    for (const templates of [this.#used, this.#fresh]) {
      for (const [key, template] of templates) {
        if (key.startsWith(`${domainKey}/`) && template.kind === kind) templates.delete(key);
      }
    }
  }

  /** Keeps a data set until its template arrives. At capacity the oldest are dropped; returns their number. */
  wait(set: WaitingSet): number {
    this.#waiting.push({ ...set, bytes: Uint8Array.from(set.bytes) });
    this.#waitingBytes += set.bytes.length;
    let dropped = 0;
    while (
      this.#waiting.length > MAX_WAITING ||
      this.#waitingBytes > MAX_WAITING_BYTES ||
      Math.abs(set.arrivedMs - (this.#waiting[0]?.arrivedMs ?? 0)) > MAX_WAIT_MS
    ) {
      this.#waitingBytes -= this.#waiting.shift()?.bytes.length ?? 0;
      dropped++;
    }
    return dropped;
  }

  /** Removes and returns the sets that waited for a template, and the number of those that waited too long. */
  takeWaiting(key: string, nowMs: number): { readonly sets: WaitingSet[]; readonly late: number } {
    const taken = this.#waiting.filter((set) => set.key === key);
    if (taken.length === 0) return { sets: taken, late: 0 };
    this.#waiting = this.#waiting.filter((set) => set.key !== key);
    this.#waitingBytes = this.#waiting.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const sets = taken.filter(({ arrivedMs }) => Math.abs(nowMs - arrivedMs) <= MAX_WAIT_MS);
    return { sets, late: taken.length - sets.length };
  }

  get templates(): number {
    return this.#used.size + this.#fresh.size;
  }

  /** The number of stored objects and waiting bytes, for tests of the bounds. */
  get size(): { readonly objects: number; readonly waitingBytes: number } {
    return {
      objects:
        this.#used.size +
        this.#fresh.size +
        this.#refused.size +
        this.rates.size +
        this.#waiting.length,
      waitingBytes: this.#waitingBytes,
    };
  }
}
