import { type Family, formatAddress, parseAddress } from '@portcullis/core/net/address.ts';
import type { DeclaredExporter } from '../../declared/collectors.ts';
import type { DesiredCollector } from '../desired.ts';
import type { Position } from '../mistakes.ts';
import type { Scope } from './scope.ts';
import type { FleetText } from '../schema/schema.ts';

type CollectorText = NonNullable<FleetText['collectors']>[number];

/** The socket of a collector, with a canonical host. */
interface Listen {
  readonly family: Family;
  readonly host: string;
  readonly port: number;
}

const LISTEN = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):([1-9][0-9]{0,4})$/;
const MAX_PORT = 65_535;
const EVERY_HOST: Readonly<Record<Family, string>> = { 4: '0.0.0.0', 6: '::' };

export function parseCollectors(
  entries: readonly CollectorText[],
  scope: Scope,
): DesiredCollector[] {
  scope.unique(entries, ({ name }) => name, 'name', 'The collector');
  const taken: { readonly name: string; readonly listen: Listen; readonly at: Position }[] = [];
  return entries.map((entry, index) => {
    const itemScope = scope.in(index);
    const { name, site } = entry;
    const at = itemScope.in('listen');
    const listen = parseListen(entry.listen);
    if (listen === null) {
      at.refuse('This is no ADDRESS:PORT, such as 0.0.0.0:6343 or [::]:6343.');
    } else {
      const other = taken.find((one) => overlap(one.listen, listen));
      if (other !== undefined) {
        at.refuse(
          `${entry.listen} is taken by the collector ${other.name} (line ${other.at.line}), which listens to ${formatListen(other.listen)}; give it another address or port.`,
        );
      }
      taken.push({ name, listen, at: at.at });
    }
    const exporters = parseExporters(entry, listen, itemScope.in('exporters'));
    return { at: itemScope.at, name, listen: entry.listen, exporters, site: site ?? null };
  });
}

function parseExporters({ exporters }: CollectorText, listen: Listen | null, scope: Scope) {
  const list = exporters.map(({ ip, sampling_rate, prefixes }, at) => {
    const itemScope = scope.in(at, 'ip');
    const parsed = parseAddress(ip);
    if (parsed.ok && listen !== null && parsed.value.family !== listen.family) {
      const own = listen.family === 4 ? '[::]:6343' : '0.0.0.0:6343';
      itemScope.refuse(
        `${ip} does not reach ${formatListen(listen)}, which takes IPv${listen.family} alone; give it a collector at an IPv${parsed.value.family} address, such as ${own}.`,
      );
    }
    return {
      ip: itemScope.host(ip) ?? ip,
      samplingRate: sampling_rate ?? null,
      prefixes: parsePrefixes(prefixes, scope.in(at, 'prefixes')),
    };
  });
  scope.unique(list, ({ ip }) => ip, 'ip', 'The exporter');
  return list;
}

/** Null: not said. */
function parsePrefixes(
  said: CollectorText['exporters'][number]['prefixes'],
  scope: Scope,
): DeclaredExporter['prefixes'] {
  if (said === undefined || said === 'all') return said ?? null;
  return scope.cidrs(said).toSorted();
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
