import type { Template } from '../decode/template.ts';

/** Templates of one exporter that have been used, and as many that have not: a flood of new ones ends only these. */
const MAX_TEMPLATES = 512;
/** Numbers of samplers and domains that an exporter may tell rates of. */
const MAX_RATES = 1024;
/** What waits for its template: sets, and bytes in all of them. */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 131_072;
/** Of what came longer ago nobody wants to know any more: it is no traffic of now. */
const MAX_WAIT_MS = 30_000;

export interface WaitingSet {
  readonly key: number;
  readonly bytes: Uint8Array;
  readonly arrivedMs: number;
  /** Of its datagram. */
  readonly exportMs: number;
  readonly uptimeMs: number | null;
  readonly sentMs: number;
}

/** What one exporter has told of its records in one format. Everything in it is bounded. */
export class TemplateStore {
  readonly #used = new Map<number, Template>();
  readonly #fresh = new Map<number, Template>();
  readonly #rates = new Map<string, number>();
  #waiting: WaitingSet[] = [];
  #waitingBytes = 0;

  /** Templates are numbered apart in each observation domain. */
  static key(domain: number, id: number): number {
    return domain * 65_536 + id;
  }

  find(key: number): Template | undefined {
    const known = this.#used.get(key);
    if (known !== undefined) return known;
    const fresh = this.#fresh.get(key);
    if (fresh === undefined) return undefined;
    this.#fresh.delete(key);
    put(this.#used, key, fresh, MAX_TEMPLATES);
    return fresh;
  }

  add(key: number, template: Template): void {
    if (this.#used.has(key)) put(this.#used, key, template, MAX_TEMPLATES);
    else put(this.#fresh, key, template, MAX_TEMPLATES);
  }

  withdraw(key: number): void {
    this.#used.delete(key);
    this.#fresh.delete(key);
  }

  /** All templates of a kind in a domain. RFC 7011 section 8.1. */
  withdrawAll(domain: number, kind: Template['kind']): void {
    for (const templates of [this.#used, this.#fresh]) {
      for (const [key, template] of templates) {
        if (Math.floor(key / 65_536) === domain && template.kind === kind) templates.delete(key);
      }
    }
  }

  /** The rate that a sampler of a domain has; without a sampler the one that holds for the domain. */
  rate(domain: number, sampler: number | null): number | undefined {
    const own = sampler === null ? undefined : this.#rates.get(`${domain}/${sampler}`);
    return own ?? this.#rates.get(`${domain}`);
  }

  setRate(domain: number, sampler: number | null, rate: number): void {
    if (sampler !== null) put(this.#rates, `${domain}/${sampler}`, rate, MAX_RATES);
    put(this.#rates, `${domain}`, rate, MAX_RATES);
  }

  /** Keeps a set until its template comes; what finds no room is what waited longest. Answers how many that were. */
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

  /** What waited for a template that is there now, once; what waited too long is left out. */
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

  /** For tests of the bounds: everything that is remembered, in objects and in bytes that wait. */
  get size(): { readonly objects: number; readonly waitingBytes: number } {
    return {
      objects: this.#used.size + this.#fresh.size + this.#rates.size + this.#waiting.length,
      waitingBytes: this.#waitingBytes,
    };
  }
}

/** Puts it last; in a full map the first goes. */
function put<K, V>(map: Map<K, V>, key: K, value: V, limit: number): void {
  map.delete(key);
  if (map.size >= limit) {
    for (const oldest of map.keys()) {
      map.delete(oldest);
      break;
    }
  }
  map.set(key, value);
}
