import { type Family, formatAddress } from '@portcullis/core/net/address.ts';
import type { Connection } from '../kernel/netlink/conntrack.ts';
import type { Driver } from '../nftables/driver.ts';
import { stateSet } from '../nftables/filters/state.ts';
import { addressOf, parseSet } from '../nftables/elements/kernel-set.ts';
import { protocolNumber, TABLE } from '../nftables/names.ts';
import { type ChangedPort, type PortIndex, portIndex } from './changes.ts';

/** Forgets connections for which `wanted` says yes; it is asked once for each. Resolves to how many. */
export type RemoveConnections = (
  families: readonly Family[],
  wanted: (connection: Connection) => boolean,
) => Promise<number>;

/** As many as there is room for; whoever comes after them waits for his own timeout. */
const MAX_RESETS = 65_536;
const ELEMENTS_PER_COMMAND = 4096;

/**
 * Makes everybody on these ports begin anew, so that connections from before a filter cannot stay beside it: validated
 * sources are forgotten, and so are connections. Both ends of a TCP connection are told with a reset when they send
 * next (`nftables/reset.ts`).
 */
export async function reconnectPorts(
  ports: readonly ChangedPort[],
  driver: Driver,
  removeConnections: RemoveConnections,
): Promise<void> {
  if (ports.length === 0) return;
  const families = ([4, 6] as const).filter((family) =>
    ports.some(({ cidr }) => cidr.family === family),
  );
  const asked = portIndex(ports);
  const lines: string[] = [];
  for (const family of families) lines.push(...(await forgetValidated(family, asked, driver)));
  await driver.apply(asText(lines));
  const resets: Record<Family, string[]> = { 4: [], 6: [] };
  await removeConnections(families, (connection) => {
    const { family, protocol, destination, destinationPort, isProxied } = connection;
    if (destinationPort === null) return false;
    const port = asked(protocol, destinationPort, () => valueOf(destination), family);
    if (port === null || (port.whose === 'proxied' && !isProxied)) return false;
    if (port.protocol === 'tcp' && resets[family].length < MAX_RESETS) {
      resets[family].push(tupleOf(connection));
    }
    return true;
  });
  const added = families.flatMap((family) =>
    (['reset_client', 'reset_server'] as const).flatMap((state) =>
      commands('add', stateSet(state, family), resets[family]),
    ),
  );
  await driver.apply(asText(added));
}

async function forgetValidated(
  family: Family,
  asked: PortIndex,
  driver: Driver,
): Promise<string[]> {
  const set = stateSet('validated', family);
  const elements = parseSet(await driver.list(set));
  const gone = elements.filter(({ fields: [, , server = '', port = ''] }) => {
    const value = addressOf(server);
    return (
      value !== null && asked(protocolNumber('udp'), Number(port), () => value, family) !== null
    );
  });
  const keys = gone.map(({ fields }) => fields.join(' . '));
  // Added first: one that has run out meanwhile could not be deleted, and nothing would be.
  return [...commands('add', set, keys), ...commands('delete', set, keys)];
}

function commands(what: 'add' | 'delete', set: string, keys: readonly string[]): string[] {
  const count = Math.ceil(keys.length / ELEMENTS_PER_COMMAND);
  return Array.from({ length: count }, (_, index) => {
    const some = keys.slice(index * ELEMENTS_PER_COMMAND, (index + 1) * ELEMENTS_PER_COMMAND);
    return `${what} element ${TABLE} ${set} { ${some.join(', ')} }`;
  });
}

function tupleOf({ family, source, sourcePort, destination, destinationPort }: Connection): string {
  const text = (bytes: Buffer): string => formatAddress({ family, value: valueOf(bytes) });
  return [text(source), sourcePort, text(destination), destinationPort].join(' . ');
}

function valueOf(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex')}`);
}

function asText(lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}
