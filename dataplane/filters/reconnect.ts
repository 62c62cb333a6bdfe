import { type Family, formatAddress } from '@portcullis/core/net/address.ts';
import type { Connection } from '../kernel/netlink/conntrack.ts';
import type { Driver } from '../nftables/driver.ts';
import { stateSet } from '../nftables/filters/state.ts';
import { addressOf, parseSet } from '../nftables/elements/kernel-set.ts';
import { protocolNumber, TABLE } from '../nftables/names.ts';
import { type ChangedPort, type PortIndex, portIndex } from './changes.ts';

/** Deletes the connections for which `wanted` returns true; it is called once for each. Resolves to their number. */
export type RemoveConnections = (
  families: readonly Family[],
  wanted: (connection: Connection) => boolean,
) => Promise<number>;

/** The size of the set. Further clients wait for their own timeout. */
const MAX_RESETS = 65_536;
const ELEMENTS_PER_COMMAND = 4096;

/**
 * Makes all clients of these ports reconnect, so that connections from before a filter cannot bypass it. Deletes
 * validated sources and connections. Both ends of a TCP connection receive a reset when they next send
 * (`nftables/reset.ts`).
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
  const portOf = portIndex(ports);
  const lines: string[] = [];
  for (const family of families) lines.push(...(await forgetValidated(family, portOf, driver)));
  await driver.apply(asText(lines));
  const resets: Record<Family, string[]> = { 4: [], 6: [] };
  await removeConnections(families, (connection) => {
    const { family, protocol, destination, destinationPort, isProxied } = connection;
    if (destinationPort === null) return false;
    const port = portOf(protocol, destinationPort, () => valueOf(destination), family);
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
  portOf: PortIndex,
  driver: Driver,
): Promise<string[]> {
  const set = stateSet('validated', family);
  const elements = parseSet(await driver.list(set));
  const gone = elements.filter(({ fields: [, , server = '', port = ''] }) => {
    const value = addressOf(server);
    return (
      value !== null && portOf(protocolNumber('udp'), Number(port), () => value, family) !== null
    );
  });
  const keys = gone.map(({ fields }) => fields.join(' . '));
  // `delete` of an expired element would fail the transaction, so each is added first.
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
