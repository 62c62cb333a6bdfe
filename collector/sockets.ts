import { detailOf } from '@portcullis/core/attacks/detector/detector.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import { BITS, parseAddress } from '@portcullis/core/net/address.ts';
import { type Cidr, formatCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import {
  type CollectorAssignment,
  type CollectorStatus,
  type ExporterStatus,
  MAX_REPORTED_EXPORTERS,
} from '@portcullis/link/messages/collector.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { Collector, type CollectorOptions, type Listen } from './collector.ts';
import type { Exporter } from './exporter/exporter.ts';

/** The collector's sockets: opened as assigned, with a reason while they cannot be. */
export class ExporterSockets {
  readonly #onSample: (sample: Sample) => void;
  #watched: Pick<CollectorOptions, 'prefixes' | 'detail'> = watchedOf([]);
  #open: { readonly listen: string; readonly collector: Collector } | null = null;
  #problem: string | null = null;

  constructor(onSample: (sample: Sample) => void) {
    this.#onSample = onSample;
  }

  /** Opens, moves or closes the sockets. Never rejects. Returns false if it must be tried again. */
  async assign(assigned: CollectorAssignment): Promise<boolean> {
    if (this.#open?.listen !== assigned.listen) {
      this.close();
      try {
        const collector = await this.#listen(assigned);
        // The protected networks may have changed meanwhile.
        collector.watch(this.#watched);
        this.#open = { listen: assigned.listen, collector };
        this.#problem = null;
      } catch (error) {
        this.#problem = describeListenError(assigned.listen, error);
        return false;
      }
    }
    this.#open.collector.listenTo(listedOf(assigned));
    return true;
  }

  watch(scopes: readonly WatchScope[]): void {
    this.#watched = watchedOf(scopes);
    this.#open?.collector.watch(this.#watched);
  }

  tops(subject: string): SubjectTops | null {
    return this.#open?.collector.tops(subject) ?? null;
  }

  status(): CollectorStatus {
    const collector = this.#open?.collector;
    const { socketDrops = 0, unknownExporters = 0, outside = 0 } = collector?.counters() ?? {};
    const exporters = collector?.exporters() ?? [];
    return {
      listening: this.#open?.listen ?? null,
      problem: this.#problem,
      bufferBytes: collector?.sockets[0]?.receiveBufferBytes ?? 0,
      socketDrops,
      unknownExporters,
      outside,
      exporters: exporters
        .toSorted((a, b) => (b.receivedAtMs ?? -1) - (a.receivedAtMs ?? -1))
        .slice(0, MAX_REPORTED_EXPORTERS)
        .map(statusOf),
    };
  }

  close(): void {
    this.#open?.collector.close();
    this.#open = null;
  }

  #listen(assigned: CollectorAssignment): Promise<Collector> {
    return Collector.open({
      listen: [parseListen(assigned.listen)],
      ...listedOf(assigned),
      ...this.#watched,
      onSample: this.#onSample,
    });
  }
}

function watchedOf(scopes: readonly WatchScope[]): Pick<CollectorOptions, 'prefixes' | 'detail'> {
  const subjects = scopes.filter(({ subject }) => subject);
  const networks = networksOf(subjects.map(({ scope }) => scope));
  const isHost = ({ family, length }: Cidr): boolean => length === BITS[family];
  const wide = networks.filter((network) => !isHost(network));
  const containing = new NearestScope(
    wide.map((network) => [formatCidr(network), network] as const),
  );
  // An address in a prefix counts for the prefix, whatever its holding.
  const hosts = networks.filter((one) => isHost(one) && containing.of(formatCidr(one)) === null);
  const prefixes = [...wide, ...hosts];
  const least = (of: (scope: WatchScope) => number): number =>
    subjects.reduce((smallest, scope) => Math.min(smallest, of(scope)), Number.MAX_SAFE_INTEGER);
  return {
    prefixes,
    detail: detailOf({ pps: least(({ pps }) => pps), bps: least(({ bps }) => bps) }),
  };
}

function listedOf({
  exporters,
}: CollectorAssignment): Pick<CollectorOptions, 'exporters' | 'within'> {
  const limited = exporters.flatMap(({ ip, prefixes }) =>
    prefixes === null ? [] : [[ip, networksOf(prefixes)] as const],
  );
  return {
    exporters: new Map(exporters.map(({ ip, samplingRate }) => [ip, samplingRate ?? 1])),
    within: new Map(limited),
  };
}

/** An invalid network matches nothing. */
function networksOf(texts: readonly string[]): Cidr[] {
  return texts.flatMap((text) => {
    const cidr = parseCidr(text);
    return cidr.ok ? [cidr.value] : [];
  });
}

/** Control validated it. */
function parseListen(text: string): Listen {
  const colon = text.lastIndexOf(':');
  const host = text.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  const address = parseAddress(host);
  if (!address.ok) throw new Error(address.reason);
  return { host, family: address.value.family, port: Number(text.slice(colon + 1)) };
}

function statusOf({
  address,
  receivedAtMs,
  counters,
  sequences,
  templates,
}: Exporter): ExporterStatus {
  const heardAgoMs = receivedAtMs === null ? null : Math.round(performance.now() - receivedAtMs);
  return {
    ip: address,
    heardAgoMs,
    datagrams: counters.datagrams,
    records: counters.records,
    lost: sequences.lost,
    malformed: counters.malformed,
    templates,
    withoutTemplate: counters.withoutTemplate,
    templatesRefused: counters.templatesRefused,
    withoutTraffic: counters.withoutTraffic,
    implausible: counters.implausible,
  };
}

function describeListenError(listen: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'EADDRINUSE') {
    return `${listen} is taken by another program: end that, or choose another in the fleet file`;
  }
  if (code === 'EADDRNOTAVAIL') return `${listen} is no address of this host`;
  if (code === 'EACCES') {
    return `${listen} is for programs with more rights: choose a port above 1023 in the fleet file`;
  }
  return `cannot listen on ${listen}: ${error instanceof Error ? error.message : String(error)}`;
}
