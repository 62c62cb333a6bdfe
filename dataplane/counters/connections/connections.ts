import type { Connections } from '@portcullis/core/attacks/connections.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { describeError } from '@portcullis/core/log.ts';
import type { Count } from '../../nftables/elements/counter-reader.ts';
import { Deltas } from '../nftables/deltas.ts';
import { type Piece, piecesOf } from '../nftables/pieces.ts';
import { rangeOf } from '../nftables/ruleset.ts';
import type { AnsweredSource, ConnectionReader } from './reader.ts';
import {
  ANSWERED_ONE_IN,
  COUNTED,
  type CountedKind,
  counterSet,
  FAMILIES,
  KINDS,
  REMOVE_CONNECTIONS,
  renderConnections,
  renderKeys,
} from './ruleset.ts';

export interface ConnectionCountersOptions {
  /** Throws `DriverError` if nft refuses. */
  readonly apply: (text: string) => Promise<void>;
  /** Throws without the rights. */
  readonly open: () => ConnectionReader;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

export interface ConnectionReading {
  /** Connections of each counted subject, since the last reading. */
  readonly subjects: ReadonlyMap<string, Connections>;
  /** Estimates of the packets of answered sources since the last reading. */
  readonly answered: readonly (AnsweredSource & { readonly packets: number })[];
}

/** The payload of most large packets: the kernel may have merged several. */
const SEGMENT_BYTES = 1448;
/** The pause after the kernel refused. */
const PAUSE_MS = 30_000;
/** Further subjects are not counted. */
const MAX_SUBJECTS = 1024;
const NOTHING: ConnectionReading = { subjects: new Map(), answered: [] };

/**
 * Counts the TCP packets of busy subjects by their connections, in an nftables table of its own behind conntrack. The
 * table is there only while a subject is busy and the edge sees both directions. Never rejects: without these counts
 * traffic is evaluated by its packets alone.
 */
export class ConnectionCounters {
  readonly #options: ConnectionCountersOptions;
  readonly #nowMs: () => number;
  #reader: ConnectionReader | null = null;
  #devices: readonly string[] = [];
  #pieces: readonly Piece[] = [];
  /** The keys of each counted subject. */
  #subjects: ReadonlyMap<string, readonly string[]> = new Map();
  /** The devices in the kernel's table. Null: the kernel has no table of ours, or an unknown one. */
  #written: string | null = null;
  #hasLabels = true;
  #isClean = false;
  #pausedUntilMs = 0;
  #problem: string | null = null;
  #deltas = new Deltas();
  #sources = new Map<string, Count>();

  constructor(options: ConnectionCountersOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /** Packets are counted that enter by these devices. With none, nothing is. Takes effect with the next `count`. */
  enter(devices: readonly string[]): void {
    this.#devices = [...devices];
  }

  /** The networks that may be subjects; packets count in the longest one. Takes effect with the next `count`. */
  watch(networks: readonly Cidr[]): void {
    this.#pieces = FAMILIES.flatMap((family) => piecesOf(networks, family));
    this.#written = null;
  }

  problems(): readonly string[] {
    return this.#problem === null ? [] : [this.#problem];
  }

  /** Counts exactly these subjects from now on: addresses and watched networks. */
  async count(names: Iterable<string>): Promise<void> {
    const wanted = new Map<string, readonly string[]>();
    if (this.#devices.length > 0) {
      for (const name of [...names].slice(0, MAX_SUBJECTS)) wanted.set(name, this.#keysOf(name));
    }
    const devices = JSON.stringify(this.#devices);
    const isSame = this.#written === devices && sameKeys(wanted, this.#subjects);
    const isEmpty = wanted.size === 0 && this.#subjects.size === 0 && this.#isClean;
    if (isSame || isEmpty || this.#nowMs() < this.#pausedUntilMs) return;
    try {
      if (wanted.size === 0) await this.#remove();
      else if (this.#written === devices) await this.#change(wanted);
      else await this.#write(wanted, devices);
      this.#subjects = wanted;
      this.#problem = null;
    } catch (error) {
      this.#fail(error, wanted.size > 0);
    }
  }

  /** `isNeeded`: something is not counted now, which operators must know. */
  #fail(error: unknown, isNeeded: boolean): void {
    this.#written = null;
    this.#subjects = new Map();
    this.#pausedUntilMs = this.#nowMs() + PAUSE_MS;
    this.#problem = isNeeded ? `Connections cannot be counted: ${describeError(error)}.` : null;
  }

  /** Traffic since the last call. */
  async read(): Promise<ConnectionReading> {
    if (this.#subjects.size === 0) return NOTHING;
    try {
      this.#reader ??= this.#options.open();
      const counts = await this.#readCounts(this.#reader);
      const answered = this.#answered(await this.#reader.sources());
      const subjects = new Map<string, Connections>();
      for (const [name, keys] of this.#subjects) {
        subjects.set(name, connectionsOf(keys, counts));
      }
      return { subjects, answered };
    } catch (error) {
      this.#fail(error, true);
      return NOTHING;
    }
  }

  /** Removes the table. */
  async close(): Promise<void> {
    this.enter([]);
    this.#pausedUntilMs = 0;
    await this.count([]);
    this.#reader?.close();
    this.#reader = null;
  }

  #keysOf(name: string): string[] {
    if (!name.includes('/')) return [name];
    return this.#pieces.filter(({ network }) => network === name).map(rangeOf);
  }

  async #remove(): Promise<void> {
    this.#written = null;
    await this.#options.apply(REMOVE_CONNECTIONS);
    this.#isClean = true;
  }

  async #write(wanted: ReadonlyMap<string, readonly string[]>, devices: string): Promise<void> {
    this.#written = null;
    this.#isClean = false;
    const elements = renderKeys('add', [...wanted.values()].flat());
    const render = (): string => `${renderConnections(this.#hasLabels)}${elements}\n`;
    try {
      await this.#options.apply(render());
    } catch (error) {
      if (!this.#hasLabels) throw error;
      this.#hasLabels = false;
      await this.#options.apply(render());
    }
    this.#written = devices;
    this.#deltas = new Deltas();
    this.#sources = new Map();
  }

  async #change(wanted: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const before = this.#subjects;
    const removed = [...before].flatMap(([name, keys]) => (wanted.has(name) ? [] : keys));
    const added = [...wanted].flatMap(([name, keys]) => (before.has(name) ? [] : keys));
    const lines = [renderKeys('delete', removed), renderKeys('add', added)].filter(Boolean);
    await this.#options.apply(`${lines.join('\n')}\n`);
    for (const key of removed) {
      for (const counted of COUNTED) this.#deltas.forget(`${counted} ${firstOf(key)}`);
    }
  }

  async #readCounts(reader: ConnectionReader): Promise<ReadonlyMap<string, Count>> {
    const keys = [...this.#subjects.values()].flat();
    const found = new Map<string, Count>();
    for (const family of FAMILIES) {
      for (const kind of KINDS) {
        const isUsed = (key: string): boolean =>
          key.includes('-') === (kind === 'networks') && key.includes(':') === (family === 6);
        if (!keys.some(isUsed)) continue;
        for (const counted of COUNTED) {
          const counts = await reader.elements(counterSet(counted, kind, family));
          for (const [first, count] of counts ?? []) {
            const name = `${counted} ${kind} ${first}`;
            const delta = this.#deltas.step(name, count);
            if (delta !== null) found.set(name, delta);
          }
        }
      }
    }
    return found;
  }

  #answered(sources: readonly (readonly [AnsweredSource, Count])[]): ConnectionReading['answered'] {
    const before = this.#sources;
    this.#sources = new Map();
    return sources.flatMap(([one, now]) => {
      const key = `${one.destination} ${one.source} ${one.protocol}`;
      const known = before.get(key);
      this.#sources.set(key, now);
      const isNew = known === undefined || known.packets > now.packets;
      const packets = now.packets - (isNew ? 0 : known.packets);
      const bytes = now.bytes - (isNew ? 0 : known.bytes);
      const each = Math.max(packets, Math.floor(bytes / SEGMENT_BYTES)) * ANSWERED_ONE_IN;
      return each === 0 ? [] : [{ ...one, packets: each }];
    });
  }
}

function sameKeys(
  a: ReadonlyMap<string, readonly string[]>,
  b: ReadonlyMap<string, readonly string[]>,
): boolean {
  return a.size === b.size && [...a.keys()].every((name) => b.has(name));
}

function firstOf(key: string): string {
  return key.includes('-') ? `networks ${key.split('-')[0]}` : `addresses ${key}`;
}

function connectionsOf(keys: readonly string[], counts: ReadonlyMap<string, Count>): Connections {
  const of = (counted: CountedKind): Count => {
    const sum = { packets: 0, bytes: 0 };
    for (const key of keys) {
      const count = counts.get(`${counted} ${firstOf(key)}`);
      sum.packets += count?.packets ?? 0;
      sum.bytes += count?.bytes ?? 0;
    }
    return sum;
  };
  const answers = of('answers');
  return {
    strayData: of('stray_data'),
    strayAcks: of('stray_acks'),
    answers: Math.max(answers.packets, Math.floor(answers.bytes / SEGMENT_BYTES)) * ANSWERED_ONE_IN,
    served: of('served').packets,
  };
}
