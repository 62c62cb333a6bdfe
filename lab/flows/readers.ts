import type { ChildProcess } from 'node:child_process';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { formatAddress } from '@portcullis/core/net/address.ts';
import { decode } from '@portcullis/collector/decode/decode.ts';
import { Exporter, type ExporterCounters } from '@portcullis/collector/exporter/exporter.ts';
import type { FlowRecord } from '@portcullis/core/attacks/flow-record.ts';
import { within } from '../bench/within.ts';
import type { Namespace } from '../stack/netns.ts';

/** Packets and bytes by protocol, source and destination. */
export type Totals = ReadonlyMap<string, { readonly packets: number; readonly bytes: number }>;

const PATIENCE_MS = 20_000;

/** Two readers of the same datagrams: ours, and nfdump's, which gets every one forwarded. */
export class TwoReaders {
  readonly #tee: ChildProcess;
  readonly #capture: ChildProcess;
  readonly #folder: string;
  readonly #datagrams: Buffer[] = [];
  readonly #captured: Promise<unknown>;
  readonly #teed: Promise<unknown>;

  private constructor(tee: ChildProcess, capture: ChildProcess, folder: string) {
    this.#tee = tee;
    this.#capture = capture;
    this.#folder = folder;
    this.#captured = once(capture, 'exit');
    // Its output is read to the end then.
    this.#teed = once(tee, 'close');
  }

  /** Listens on `port` of 127.0.0.1 in the namespace; files of nfdump go to the folder, which must be empty. */
  static async open(
    where: Namespace,
    format: 'netflow' | 'sflow',
    port: number,
    folder: string,
  ): Promise<TwoReaders> {
    const program = format === 'sflow' ? 'sfcapd' : 'nfcapd';
    const capture = where.spawn(
      [program, '-b', '127.0.0.1', '-p', String(port + 1), '-w', folder, '-t', '3600'],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const script = join(import.meta.dirname, 'tee-process.ts');
    const tee = where.spawn([process.execPath, script, String(port), String(port + 1)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const readers = new TwoReaders(tee, capture, folder);
    const listening = Promise.withResolvers<void>();
    createInterface({ input: tee.stdout as Readable }).on('line', (line) => {
      if (line === 'listening') listening.resolve();
      else readers.#datagrams.push(Buffer.from(line, 'hex'));
    });
    const started = new Promise<void>((resolve) => {
      createInterface({ input: capture.stderr as Readable }).on('line', (line) => {
        if (line.startsWith('Startup')) resolve();
      });
    });
    await within(
      PATIENCE_MS,
      `${program} or the tee did not start`,
      Promise.all([listening.promise, started]),
    );
    return readers;
  }

  /** The totals that we read of all datagrams so far. */
  ours(): { readonly totals: Totals; readonly counters: ExporterCounters; readonly lost: number } {
    const exporter = new Exporter('127.0.0.1');
    const totals = new Map<string, { packets: number; bytes: number }>();
    const emit = (record: FlowRecord): void => {
      const { protocol, packets, bytes } = record;
      add(
        totals,
        keyOf(protocol, addressOf(record, 'source'), addressOf(record, 'destination')),
        packets,
        bytes,
      );
    };
    for (const bytes of this.#datagrams)
      decode(bytes, { exporter, port: 0, nowMs: Date.now(), emit });
    return { totals, counters: exporter.counters, lost: exporter.sequences.lost };
  }

  /** Resolves when every datagram that was sent before has come to both. */
  async settle(): Promise<void> {
    this.#tee.stdin?.end();
    await within(PATIENCE_MS, 'the tee did not end', this.#teed);
  }

  /** Ends nfdump's reader, which writes what it has, and reads that. */
  async theirs(): Promise<Totals> {
    this.#capture.kill('SIGTERM');
    await within(PATIENCE_MS, 'nfcapd did not end', this.#captured);
    const format = 'fmt:%pr|%sa|%da|%pkt|%byt';
    const text = execFileSync('nfdump', ['-q', '-N', '-6', '-R', this.#folder, '-o', format], {
      encoding: 'utf8',
    });
    const totals = new Map<string, { packets: number; bytes: number }>();
    for (const line of text.split('\n').filter((one) => one.includes('|'))) {
      const [protocol, source = '', destination = '', packets, bytes] = line
        .split('|')
        .map((cell) => cell.trim());
      const names = [
        canonicalAddress(source) ?? source,
        canonicalAddress(destination) ?? destination,
      ];
      add(
        totals,
        keyOf(Number(protocol), ...(names as [string, string])),
        Number(packets),
        Number(bytes),
      );
    }
    return totals;
  }

  close(): void {
    this.#tee.kill('SIGKILL');
    this.#capture.kill('SIGKILL');
  }
}

function add(
  totals: Map<string, { packets: number; bytes: number }>,
  key: string,
  packets: number,
  bytes: number,
): void {
  const total = totals.get(key) ?? { packets: 0, bytes: 0 };
  totals.set(key, { packets: total.packets + packets, bytes: total.bytes + bytes });
}

export function keyOf(protocol: number, source: string, destination: string): string {
  return `${protocol} ${source} > ${destination}`;
}

function addressOf(record: FlowRecord, end: 'source' | 'destination'): string {
  const value = record[end].reduce((sum, word) => (sum << 32n) | BigInt(word), 0n);
  return formatAddress({ family: record.family, value });
}
