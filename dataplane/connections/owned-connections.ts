import type { FlowStart } from '@portcullis/core/firewall/denied-flow.ts';
import { addressText } from '../nftables/elements/dump.ts';
import type { Connection } from '../kernel/netlink/conntrack.ts';
import type { Routes } from '../kernel/netlink/routes.ts';

/** Selects the connections that the edge evaluates. Conntrack does not record the input device. */
export interface OwnedConnections {
  /** Whether the route to the client of the connection leads through one of the devices. */
  isOwned(connection: Pick<Connection, 'family' | 'source'>): boolean;
  close(): void;
}

const MAX_CLIENTS = 10_000;

/** `nameOf` returns the present name of a device. The route of each client is looked up once. */
export function ownedConnections(
  devices: readonly string[],
  routes: Routes,
  nameOf: (index: number) => string | null,
): OwnedConnections {
  const clients = new Map<string, boolean>();
  const isOwnDevice = (index: number | null): boolean =>
    index !== null && devices.includes(nameOf(index) ?? '');
  return {
    isOwned: ({ family, source }) => {
      const key = source.toString('latin1');
      let known = clients.get(key);
      if (known === undefined) {
        if (clients.size >= MAX_CLIENTS) clients.clear();
        known = isOwnDevice(routes.deviceTo(family, source));
        clients.set(key, known);
      }
      return known;
    },
    close: () => routes.close(),
  };
}

/** The first packet of a connection. */
export function flowOf(connection: Connection): FlowStart {
  const { family, protocol, source, destination, sourcePort, destinationPort, icmp } = connection;
  return {
    family,
    source: addressText(source),
    destination: addressText(destination),
    protocol,
    sourcePort,
    destinationPort,
    icmp,
  };
}
