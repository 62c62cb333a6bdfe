import { createSocket, type Socket } from 'node:dgram';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { BUCKET_MS, type Sample } from '@portcullis/core/attacks/sample.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import { Aggregate } from './aggregate/aggregate.ts';
import { decode } from './decode/decode.ts';
import { Exporter } from './exporter/exporter.ts';
import { Networks } from './aggregate/networks.ts';
import { type Endpoint, readSocketDrops } from './exporter/socket-drops.ts';

export interface Listen {
  /** Canonical. */
  readonly host: string;
  readonly family: 4 | 6;
  /** 0: any that is free. */
  readonly port: number;
}

export interface CollectorOptions {
  readonly listen: readonly Listen[];
  /** By canonical address; the rate is for what the exporter tells none for, 1 where nothing is said. */
  readonly exporters: ReadonlyMap<string, number>;
  /** By canonical address, what exporters are believed of; who is not in it, is believed of everything. */
  readonly within?: ReadonlyMap<string, readonly Cidr[]>;
  /** What is protected; null: every destination. */
  readonly prefixes: readonly Cidr[] | null;
  /** Packets and bytes in a bucket from which a subject's vectors are told. */
  readonly detail: { readonly packets: number; readonly bytes: number };
  readonly onSample: (sample: Sample) => void;
}

/** Since the start. */
export interface CollectorCounters {
  datagrams: number;
  records: number;
  malformed: number;
  withoutTemplate: number;
  templatesRefused: number;
  agentDrops: number;
  /** By the exporters' own numbering: datagrams or records that never came. */
  lost: number;
  /** Datagrams of exporters that are not listed. */
  strangers: number;
  /** Datagrams that came faster than they were read. */
  socketDrops: number;
  /** Records to destinations that are not protected, or that their exporter is not believed of. */
  outside: number;
  crowdedOut: number;
  unspread: number;
  /** Records of what goes out that were told when it came in. */
  toldTwice: number;
}

/** Exports come in bursts: a second of them at a high rate. Where the kernel gives less, socketDrops tells. */
const RECEIVE_BUFFER_BYTES = 16 * 1024 * 1024;
const MAX_ADDRESSES = 131_072;
/** Numbers of exporters are taken again after so many. */
const MAX_NUMBER = 2 ** 19;

/** Listens to exporters and tells what they told, a sample every bucket, until it is closed. */
export class Collector {
  readonly #options: CollectorOptions;
  #exporters: ReadonlyMap<string, Exporter> = new Map();
  #aggregate: Aggregate;
  readonly #sockets: Socket[] = [];
  /** Exporters that there were: each has a number of its own. */
  #numbers = 0;
  #strangers = 0;
  #timer: NodeJS.Timeout | null = null;
  /** When the open bucket began: buckets are of exact length, whenever they are closed. */
  #beganMs = gridMs();

  private constructor(options: CollectorOptions) {
    this.#options = options;
    this.#exporters = this.#exportersOf(options);
    this.#aggregate = aggregateOf(options, this.#beganMs);
  }

  /** Rejects where an address cannot be listened on. */
  static async open(options: CollectorOptions): Promise<Collector> {
    const collector = new Collector(options);
    try {
      for (const listen of options.listen) await collector.#listen(listen);
    } catch (error) {
      collector.close();
      throw error;
    }
    collector.#awaitBucket();
    return collector;
  }

  /** Where it listens, and with what room in the kernel: as much as `net.core.rmem_max` lets it have. */
  get sockets(): readonly (Endpoint & { readonly receiveBufferBytes: number })[] {
    return this.#sockets.map((socket) => ({
      ...endpointOf(socket),
      receiveBufferBytes: socket.getRecvBufferSize(),
    }));
  }

  /** From now on these are listened to. What is known of those that stay, their templates above all, is kept. */
  listenTo(listed: Pick<CollectorOptions, 'exporters' | 'within'>): void {
    this.#exporters = this.#exportersOf(listed);
  }

  /** From now on these are protected; the bucket that has begun is thrown away. */
  watch(watched: Pick<CollectorOptions, 'prefixes' | 'detail'>): void {
    const { counters } = this.#aggregate;
    this.#aggregate = aggregateOf(watched, this.#beganMs);
    Object.assign(this.#aggregate.counters, counters);
  }

  exporters(): readonly Exporter[] {
    return [...this.#exporters.values()];
  }

  /** Who sends the most to a subject of the last sample; null: not known (yet), for only what is asked for is looked at. */
  tops(subject: string): SubjectTops | null {
    return this.#aggregate.tops(subject);
  }

  counters(): CollectorCounters {
    const total: CollectorCounters = {
      datagrams: 0,
      records: 0,
      malformed: 0,
      withoutTemplate: 0,
      templatesRefused: 0,
      agentDrops: 0,
      lost: 0,
      toldTwice: 0,
      strangers: this.#strangers,
      socketDrops: readSocketDrops(this.#sockets.map(endpointOf)),
      ...this.#aggregate.counters,
    };
    for (const { counters, sequences } of this.#exporters.values()) {
      total.datagrams += counters.datagrams;
      total.records += counters.records;
      total.malformed += counters.malformed;
      total.withoutTemplate += counters.withoutTemplate;
      total.templatesRefused += counters.templatesRefused;
      total.agentDrops += counters.agentDrops;
      total.lost += sequences.lost;
      total.toldTwice += counters.toldTwice;
      total.outside += counters.beyond;
    }
    return total;
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const socket of this.#sockets.splice(0)) socket.close();
  }

  async #listen({ host, family, port }: Listen): Promise<void> {
    const socket = createSocket({
      type: family === 4 ? 'udp4' : 'udp6',
      // One family a socket, so that an address never comes in the other's clothes.
      ipv6Only: family === 6,
      recvBufferSize: RECEIVE_BUFFER_BYTES,
    });
    this.#sockets.push(socket);
    const listening = once(socket, 'listening');
    socket.bind(port, host);
    await listening;
    socket.on('message', (bytes, { address }) => this.#read(bytes, address));
    // What a network reports of packets that we never sent is nothing to end for.
    socket.on('error', () => {});
  }

  #read(bytes: Buffer, address: string): void {
    const exporter = this.#exporters.get(address);
    if (exporter === undefined) {
      this.#strangers++;
      return;
    }
    const nowMs = performance.now();
    exporter.heardAtMs = nowMs;
    decode(bytes, { exporter, nowMs, emit: (record) => this.#aggregate.add(record, nowMs) });
  }

  #awaitBucket(): void {
    const restMs = this.#beganMs + BUCKET_MS - performance.now();
    this.#timer = setTimeout(
      // After what waits in the sockets: where this process was kept waiting, that is of this bucket.
      () => setImmediate(() => this.#closeBucket()),
      Math.max(1, restMs),
    );
  }

  #closeBucket(): void {
    if (this.#timer === null) return;
    const buckets = Math.floor((performance.now() - this.#beganMs) / BUCKET_MS);
    if (buckets > 0) {
      this.#beganMs += buckets * BUCKET_MS;
      this.#options.onSample(this.#aggregate.close(Date.now(), buckets * BUCKET_MS));
    }
    this.#awaitBucket();
  }

  /** Those that were known before stay what they are. */
  #exportersOf({
    exporters,
    within,
  }: Pick<CollectorOptions, 'exporters' | 'within'>): Map<string, Exporter> {
    return new Map(
      [...exporters].map(([address, rate]) => {
        const before = this.#exporters.get(address);
        const stays = before?.defaultRate === rate ? before : null;
        const one = stays ?? new Exporter(address, rate, this.#numbers++ % MAX_NUMBER);
        const networks = within?.get(address);
        one.within = networks === undefined ? null : new Networks(networks);
        return [address, one];
      }),
    );
  }
}

function gridMs(): number {
  return Math.floor(performance.now() / BUCKET_MS) * BUCKET_MS;
}

function aggregateOf(
  { prefixes, detail }: Pick<CollectorOptions, 'prefixes' | 'detail'>,
  nowMs: number,
) {
  return new Aggregate({
    prefixes,
    addresses: MAX_ADDRESSES,
    seed: randomInt(2 ** 32),
    detail,
    nowMs,
  });
}

function endpointOf(socket: Socket): Endpoint {
  const { family, port } = socket.address();
  return { family: family === 'IPv6' ? 6 : 4, port };
}
