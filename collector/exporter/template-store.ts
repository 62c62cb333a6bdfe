import { putBounded } from './put-bounded.ts';
import type { Template } from '../decode/template.ts';

/** The most used templates of one exporter, and the most unused ones: a flood of new templates evicts only unused ones. */
const MAX_TEMPLATES = 512;
/** The most samplers and domains with a sampling rate. */
const MAX_RATES = 1024;
/** The most data sets that wait for a template, and their bytes. */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 131_072;
/** Older data sets are dropped: they describe no present traffic. */
const MAX_WAIT_MS = 30_000;

export interface WaitingSet {
  readonly key: number;
  readonly bytes: Uint8Array;
  readonly arrivedMs: number;
  /** The arrival of the datagram. */
  readonly exportMs: number;
  readonly uptimeMs: number | null;
  readonly sentMs: number;
}

/** The templates and sampling rates of one exporter in one format. All of it is bounded. */
export class TemplateStore {
  readonly #used = new Map<number, Template>();
  readonly #fresh = new Map<number, Template>();
  readonly #rates = new Map<string, number>();
  #waiting: WaitingSet[] = [];
  #waitingBytes = 0;

  /** Each observation domain numbers its templates separately. */
  static key(domain: number, id: number): number {
    return domain * 65_536 + id;
  }

  find(key: number): Template | undefined {
    const known = this.#used.get(key);
    if (known !== undefined) return known;
    const fresh = this.#fresh.get(key);
    if (fresh === undefined) return undefined;
    this.#fresh.delete(key);
    putBounded(this.#used, key, fresh, MAX_TEMPLATES);
    return fresh;
  }

  add(key: number, template: Template): void {
    if (this.#used.has(key)) putBounded(this.#used, key, template, MAX_TEMPLATES);
    else putBounded(this.#fresh, key, template, MAX_TEMPLATES);
  }

  withdraw(key: number): void {
    this.#used.delete(key);
    this.#fresh.delete(key);
  }

  /** Removes all templates of a kind in a domain. RFC 7011 section 8.1. */
  withdrawAll(domain: number, kind: Template['kind']): void {
    for (const templates of [this.#used, this.#fresh]) {
      for (const [key, template] of templates) {
        if (Math.floor(key / 65_536) === domain && template.kind === kind) templates.delete(key);
      }
    }
  }

  /** The sampling rate of a sampler, or of the domain without one. */
  rate(domain: number, sampler: number | null): number | undefined {
    const own = sampler === null ? undefined : this.#rates.get(`${domain}/${sampler}`);
    return own ?? this.#rates.get(`${domain}`);
  }

  setRate(domain: number, sampler: number | null, rate: number): void {
    if (sampler !== null) putBounded(this.#rates, `${domain}/${sampler}`, rate, MAX_RATES);
    putBounded(this.#rates, `${domain}`, rate, MAX_RATES);
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

  /** Removes and returns the sets that waited for a template, without those that waited too long. */
  takeWaiting(key: number, nowMs: number): WaitingSet[] {
    if (this.#waiting.length === 0) return [];
    const taken = this.#waiting.filter((set) => set.key === key);
    if (taken.length === 0) return taken;
    this.#waiting = this.#waiting.filter((set) => set.key !== key);
    this.#waitingBytes = this.#waiting.reduce((sum, { bytes }) => sum + bytes.length, 0);
    return taken.filter(({ arrivedMs }) => Math.abs(nowMs - arrivedMs) <= MAX_WAIT_MS);
  }

  get templates(): number {
    return this.#used.size + this.#fresh.size;
  }

  /** The number of stored objects and waiting bytes, for tests of the bounds. */
  get size(): { readonly objects: number; readonly waitingBytes: number } {
    return {
      objects: this.#used.size + this.#fresh.size + this.#rates.size + this.#waiting.length,
      waitingBytes: this.#waitingBytes,
    };
  }
}
