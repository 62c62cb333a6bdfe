import { createSocket, type Socket } from 'node:dgram';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import type { FlowRecord } from '@portcullis/core/attacks/flow-record.ts';
import { BUCKET_MS, type Sample } from '@portcullis/core/attacks/sample.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import { Aggregate } from './aggregate/aggregate.ts';
import { decode } from './decode/decode.ts';
import { Exporter, type ExporterCounters, noCounters } from './exporter/exporter.ts';
import { Networks } from './aggregate/networks.ts';
import { type Endpoint, readSocketDrops } from './exporter/socket-drops.ts';

export interface Listen {
  /** Canonical addresses. */
  readonly host: string;
  readonly family: 4 | 6;
  /** 0 chooses a free port. */
  readonly port: number;
}

export interface CollectorOptions {
  readonly listen: readonly Listen[];
  /** Sampling rates by canonical address, for exports without a rate of their own; 1 by default. */
  readonly exporters: ReadonlyMap<string, number>;
  /** The networks that an exporter may report, by its canonical address. Absent: every network. */
  readonly within?: ReadonlyMap<string, readonly Cidr[]>;
  /** The protected networks. Null means every destination. */
  readonly prefixes: readonly Cidr[] | null;
  /** Packets and bytes in a bucket above which a subject's vectors are reported. */
  readonly detail: { readonly packets: number; readonly bytes: number };
  readonly onSample: (sample: Sample) => void;
}

/** Counters since the start: of all exporters, and of the aggregate. */
export type CollectorCounters = Omit<ExporterCounters, 'beyond'> & {
  /** Lost datagrams or records, by the exporters' sequence numbers. */
  readonly lost: number;
  /** Datagrams of unlisted exporters. */
  readonly unknownExporters: number;
  /** Datagrams that the kernel dropped because the socket buffer was full. */
  readonly socketDrops: number;
  /** Records to unprotected destinations, or to networks that the exporter may not report. */
  readonly outside: number;
  readonly crowdedOut: number;
  readonly unspread: number;
};

/** The socket buffer holds a second of exports at a high rate. If the kernel grants less, socketDrops shows it. */
const RECEIVE_BUFFER_BYTES = 16 * 1024 * 1024;
const MAX_ADDRESSES = 131_072;
/** Exporter numbers are reused after this many. */
const MAX_NUMBER = 2 ** 19;

/** Receives exports and emits one sample per bucket until it is closed. */
export class Collector {
  readonly #options: CollectorOptions;
  #exporters: ReadonlyMap<string, Exporter> = new Map();
  #aggregate: Aggregate;
  readonly #sockets: Socket[] = [];
  /** The number of exporters so far: each gets its own. */
  #numbers = 0;
  #unknownExporters = 0;
  #timer: NodeJS.Timeout | null = null;
  /** The start of the open bucket. Buckets have an exact length, whenever they are closed. */
  #beganMs = gridMs();

  private constructor(options: CollectorOptions) {
    this.#options = options;
    this.#exporters = this.#exportersOf(options);
    this.#aggregate = aggregateOf(options, this.#beganMs);
  }

  /** Rejects if an address cannot be bound. */
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

  /** The bound address and the buffer size, which `net.core.rmem_max` limits. */
  get sockets(): readonly (Endpoint & { readonly receiveBufferBytes: number })[] {
    return this.#sockets.map((socket) => ({
      ...endpointOf(socket),
      receiveBufferBytes: socket.getRecvBufferSize(),
    }));
  }

  /** Changes the list of exporters. Those that stay keep their state, such as templates. */
  listenTo(listed: Pick<CollectorOptions, 'exporters' | 'within'>): void {
    this.#exporters = this.#exportersOf(listed);
  }

  /** Changes the protected networks. The open bucket is dropped. */
  watch(watched: Pick<CollectorOptions, 'prefixes' | 'detail'>): void {
    const { counters } = this.#aggregate;
    this.#aggregate = aggregateOf(watched, this.#beganMs);
    Object.assign(this.#aggregate.counters, counters);
  }

  exporters(): readonly Exporter[] {
    return [...this.#exporters.values()];
  }

  /** The top sources of a subject in the last sample. Null if unknown: only requested subjects are observed. */
  tops(subject: string): SubjectTops | null {
    return this.#aggregate.tops(subject);
  }

  counters(): CollectorCounters {
    const { beyond, ...total } = noCounters();
    let outside = beyond;
    let lost = 0;
    for (const { counters, sequences } of this.#exporters.values()) {
      for (const name of Object.keys(total) as (keyof typeof total)[])
        total[name] += counters[name];
      outside += counters.beyond;
      lost += sequences.lost;
    }
    const { counters } = this.#aggregate;
    return {
      ...total,
      ...counters,
      outside: outside + counters.outside,
      lost,
      unknownExporters: this.#unknownExporters,
      socketDrops: readSocketDrops(this.#sockets.map(endpointOf)),
    };
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const socket of this.#sockets.splice(0)) socket.close();
  }

  async #listen({ host, family, port }: Listen): Promise<void> {
    const socket = createSocket({
      type: family === 4 ? 'udp4' : 'udp6',
      // One family per socket, so that no IPv4-mapped addresses appear.
      ipv6Only: family === 6,
      recvBufferSize: RECEIVE_BUFFER_BYTES,
    });
    this.#sockets.push(socket);
    const listening = once(socket, 'listening');
    socket.bind(port, host);
    await listening;
    socket.on('message', (bytes, { address, port }) => this.#read(bytes, address, port));
    // An ICMP error for packets that we never sent must not end the process.
    socket.on('error', () => {});
  }

  #read(bytes: Buffer, address: string, port: number): void {
    const exporter = this.#exporters.get(address);
    if (exporter === undefined) {
      this.#unknownExporters++;
      return;
    }
    const nowMs = performance.now();
    exporter.receivedAtMs = nowMs;
    const emit = (record: FlowRecord): void => this.#aggregate.add(record, nowMs);
    decode(bytes, { exporter, port, nowMs, emit });
  }

  #awaitBucket(): void {
    const restMs = this.#beganMs + BUCKET_MS - performance.now();
    this.#timer = setTimeout(
      // After the datagrams that wait in the sockets: if this process was delayed, they belong to this bucket.
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

  /** Known exporters keep their state. */
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
