import {
  addAddress,
  addRoute,
  enableForwarding,
  type Namespace,
  Network,
  setAddress,
  setRoute,
} from './netns.ts';

/**
 * The lab's internet: a client, an edge in the path, a server behind it. The edge host has an address of
 * its own to protect, and a container behind DNAT, as Docker would make it.
 *
 *     client 192.0.2.2 ── 192.0.2.1 edge 203.0.113.1 ── 203.0.113.10 server
 *                          198.51.100.1 (own)  172.30.0.1 ── 172.30.0.2 container
 */
export interface Internet {
  readonly client: Namespace;
  readonly edge: Namespace;
  readonly server: Namespace;
  readonly container: Namespace;
  destroy(): void;
}

export const CLIENT = {
  4: '192.0.2.2',
  6: '2001:db8:c::2',
  /** Further sources on the client's side, for rules on a host, a network or a country. */
  others: [
    '192.0.2.77',
    '198.18.7.7',
    '193.0.6.139',
    '2001:db8:c::77',
    '2001:db8:7::7',
    '2001:67c:2e8::1',
  ],
} as const;
export const SERVER = {
  4: '203.0.113.10',
  6: '2001:db8:5::10',
  /** Addresses in the server's prefixes without their own policy. */
  neighbours: ['203.0.113.20', '2001:db8:5::20'],
} as const;
/** The edge host's own protected address. */
export const HOST = { 4: '198.51.100.1', 6: '2001:db8:e::1' } as const;
/** Unprotected addresses of the server and of the edge host (see wire/path.ts). */
export const SENTINELS = {
  server: { 4: '198.18.5.5', 6: '2001:db8:55::5' },
  host: { 4: '198.18.6.1', 6: '2001:db8:66::1' },
} as const;
export const CONTAINER = { address: '172.30.0.2', port: 80, publishedPort: 8081 } as const;
export const EDGE_DEVICE = 'wan';

const GATEWAY = {
  client: ['192.0.2.1', '2001:db8:c::1'],
  server: ['203.0.113.1', '2001:db8:5::1'],
} as const;

export function createInternet(label: string): Internet {
  const network = new Network(label);
  try {
    const client = network.create('client');
    const edge = network.create('edge');
    const server = network.create('server');
    const container = network.create('container');
    joinClient(network, client, edge);
    joinServer(network, edge, server);
    joinContainer(network, edge, container);
    enableForwarding(edge);
    return { client, edge, server, container, destroy: () => network.destroy() };
  } catch (error) {
    network.destroy();
    throw error;
  }
}

function joinClient(network: Network, client: Namespace, edge: Namespace): void {
  network.join(client, { device: 'eth0', addresses: [] }, edge, {
    device: EDGE_DEVICE,
    addresses: [],
  });
  settleClient(client);
  settleUplink(edge);
  const own = [HOST[4], HOST[6], SENTINELS.host[4], SENTINELS.host[6]];
  for (const address of own) addAddress(edge, 'lo', withLength(address, 32, 128));
}

/** Sets the addresses and routes that the client's device needs to reach the edge. */
export function settleClient(client: Namespace): void {
  for (const address of [CLIENT[4], CLIENT[6]])
    addAddress(client, 'eth0', withLength(address, 24, 64));
  // Deprecated: the kernel does not choose it as a source address.
  for (const address of CLIENT.others)
    addAddress(client, 'eth0', withLength(address, 32, 128), 'preferred_lft', '0');
  for (const via of GATEWAY.client) setRoute(client, 'default', via);
}

/** Sets the addresses and routes that the edge's device needs to reach the client; many are lost when the device goes down. */
export function settleUplink(edge: Namespace, device: string = EDGE_DEVICE): void {
  for (const address of GATEWAY.client) setAddress(edge, device, withLength(address, 24, 64));
  for (const via of [CLIENT[4], CLIENT[6]]) setRoute(edge, 'default', via);
}

function joinServer(network: Network, edge: Namespace, server: Namespace): void {
  const addresses = [SERVER[4], SERVER[6], ...SERVER.neighbours];
  network.join(
    edge,
    { device: 'lan', addresses: GATEWAY.server.map((one) => withLength(one, 24, 64)) },
    server,
    { device: 'eth0', addresses: addresses.map((one) => withLength(one, 24, 64)) },
  );
  for (const via of GATEWAY.server) addRoute(server, 'default', via);
  for (const sentinel of [SENTINELS.server[4], SENTINELS.server[6]]) {
    addAddress(server, 'lo', withLength(sentinel, 32, 128));
    addRoute(edge, sentinel, sentinel.includes(':') ? SERVER[6] : SERVER[4]);
  }
}

/** A published port as Docker makes it: DNAT in nat prerouting and output, masquerade for hairpin traffic. */
function joinContainer(network: Network, edge: Namespace, container: Namespace): void {
  network.join(edge, { device: 'docker0', addresses: ['172.30.0.1/24'] }, container, {
    device: 'eth0',
    addresses: [`${CONTAINER.address}/24`],
  });
  addRoute(container, 'default', '172.30.0.1');
  const published = `ip daddr ${HOST[4]} tcp dport ${CONTAINER.publishedPort} dnat to ${CONTAINER.address}:${CONTAINER.port}`;
  edge.run(
    'nft',
    `table ip dockerlike {
      chain prerouting { type nat hook prerouting priority dstnat; ${published}; }
      chain output { type nat hook output priority -100; ${published}; }
      chain postrouting {
        type nat hook postrouting priority srcnat;
        ip saddr 172.30.0.0/24 ip daddr ${CONTAINER.address} masquerade;
        ip saddr 172.30.0.0/24 oifname != "docker0" masquerade;
      }
    }`,
  );
}

function withLength(address: string, v4: number, v6: number): string {
  return `${address}/${address.includes(':') ? v6 : v4}`;
}
