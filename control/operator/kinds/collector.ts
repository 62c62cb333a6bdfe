import {
  COLLECTOR,
  type CollectorObject,
} from '@portcullis/contract/schemas/declared/collector.ts';
import { type Family, formatAddress, parseAddress } from '@portcullis/core/net/address.ts';
import type { CollectorExporter } from '../../db/schema.ts';
import { type Current, defineKind, type Refuse } from '../kind.ts';
import { kindTable } from '../table.ts';

type Exporter = CollectorObject['exporters'][number];

/** An exporter is stored under the names that collectors use. */
type Stored = Omit<CollectorObject, 'exporters'> & {
  readonly exporters: readonly CollectorExporter[];
};

const table = kindTable<Stored>({
  table: 'collectors',
  key: 'name',
  columns: { name: 'text', listen: 'text', exporters: 'jsonb', site: 'text' },
});

/** A listener for flow exports. */
export const collector = defineKind<typeof COLLECTOR, CollectorObject, object>(COLLECTOR, {
  place: '/collectors/*',
  key: ({ name }) => name,
  refersTo: [],
  check: checkListen,
  checkAll: refuseTaken,
  inherit: believeAsBefore,
  load: async (db, keys) => (await table.load(db, keys)).map(fromStored),
  adopt: table.adopt,
  save: (batch, many) =>
    table.upsert(
      batch,
      many.map(({ object }) => toStored(object)),
    ),
  remove: ({ tx }, many) => table.delete(tx, many),
  summary: ({ listen, exporters }) =>
    `at ${listen}, from ${exporters.map(describeExporter).join(', ')}`,
  shown: ({ listen, exporters, site }) => ({
    listen,
    exporters: exporters.map(describeExporter),
    site,
  }),
  notes: noteUnsaid,
});

function toStored({ exporters, ...object }: CollectorObject): Stored {
  return {
    ...object,
    exporters: exporters.map(({ ip, sampling_rate: samplingRate, prefixes }) => ({
      ip,
      samplingRate,
      prefixes: prefixes ?? [],
    })),
  };
}

function fromStored({ object, ...row }: Current<Stored>): Current<CollectorObject> {
  const exporters = object.exporters.map(({ ip, samplingRate, prefixes }) => ({
    ip,
    sampling_rate: samplingRate,
    prefixes,
  }));
  return { ...row, object: { ...object, exporters } };
}

function describeExporter({ ip, sampling_rate: sampling, prefixes }: Exporter): string {
  const rate = sampling === null ? '' : ` 1:${sampling}`;
  return `${ip}${rate} of ${typeof prefixes === 'string' ? prefixes : prefixes?.join(' ')}`;
}

/**
 * An exporter without `prefixes` keeps its stored ones: those made before the field existed have every destination. A new
 * exporter has to name the destinations for which it is believed.
 */
function believeAsBefore(
  object: CollectorObject,
  before: CollectorObject | null,
  refuse: Refuse,
): CollectorObject {
  const known = new Map(before?.exporters.map(({ ip, prefixes }) => [ip, prefixes]));
  const exporters = object.exporters.map((exporter, index) => {
    const prefixes = exporter.prefixes ?? known.get(exporter.ip) ?? null;
    if (prefixes === null) {
      refuse(
        `/exporters/${index}`,
        `Say of which destinations the exporter ${exporter.ip} is believed: prefixes: [203.0.113.0/24], or prefixes: all, with which its collector can report an attack on any address.`,
      );
    }
    return { ...exporter, prefixes };
  });
  return { ...object, exporters };
}

function noteUnsaid({ name, exporters }: CollectorObject): string[] {
  const unsaid = exporters.filter(({ prefixes }) => prefixes === null).map(({ ip }) => ip);
  if (unsaid.length === 0) return [];
  return [
    `collector ${name}: the file does not say of which destinations ${unsaid.join(', ')} is believed, so that stays as it is: write prefixes: [...], or prefixes: all`,
  ];
}

/** The socket of a collector, with a canonical host. */
interface Listen {
  readonly family: Family;
  readonly host: string;
  readonly port: number;
}

const LISTEN = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):([1-9][0-9]{0,4})$/;
const MAX_PORT = 65_535;
const EVERY_HOST: Readonly<Record<Family, string>> = { 4: '0.0.0.0', 6: '::' };

function checkListen({ listen: text, exporters }: CollectorObject, refuse: Refuse): void {
  const listen = parseListen(text);
  if (listen === null) {
    refuse('/listen', 'This is no ADDRESS:PORT, such as 0.0.0.0:6343 or [::]:6343.');
    return;
  }
  for (const [index, { ip }] of exporters.entries()) {
    const parsed = parseAddress(ip);
    if (!parsed.ok || parsed.value.family === listen.family) continue;
    const own = listen.family === 4 ? '[::]:6343' : '0.0.0.0:6343';
    refuse(
      `/exporters/${index}/ip`,
      `${ip} does not reach ${formatListen(listen)}, which takes IPv${listen.family} alone; give it a collector at an IPv${parsed.value.family} address, such as ${own}.`,
    );
  }
}

/** Refuses sockets that the collectors of a file would take from one another. */
function refuseTaken(
  collectors: readonly CollectorObject[],
  refuse: (index: number, ...why: Parameters<Refuse>) => void,
): void {
  const taken: { readonly name: string; readonly listen: Listen }[] = [];
  for (const [index, { name, listen: text }] of collectors.entries()) {
    const listen = parseListen(text);
    if (listen === null) continue;
    const other = taken.find((one) => overlap(one.listen, listen));
    if (other !== undefined) {
      refuse(
        index,
        '/listen',
        `${text} is taken by the collector ${other.name}, which listens to ${formatListen(other.listen)}; give it another address or port.`,
      );
    }
    taken.push({ name, listen });
  }
}

/** Returns null when the text is not ADDRESS:PORT. */
function parseListen(text: string): Listen | null {
  const [, six, four, port] = LISTEN.exec(text) ?? [];
  const address = parseAddress(six ?? four ?? '');
  if (!address.ok || Number(port) > MAX_PORT) return null;
  const { family } = address.value;
  return { family, host: formatAddress(address.value), port: Number(port) };
}

function formatListen({ family, host, port }: Listen): string {
  return family === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether both sockets could receive the same datagram. */
function overlap(one: Listen, other: Listen): boolean {
  if (one.family !== other.family || one.port !== other.port) return false;
  const every = EVERY_HOST[one.family];
  return one.host === other.host || one.host === every || other.host === every;
}
