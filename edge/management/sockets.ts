import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';

/** A line of /proc/net/tcp, tcp6, udp or udp6. */
export interface Socket {
  readonly protocol: 'tcp' | 'udp';
  readonly localAddress: string;
  readonly localPort: number;
  /** The state of an unconnected UDP socket: listening. */
  readonly state: 'listening' | 'established' | 'other';
  /** The account of its process. */
  readonly uid: number;
  readonly inode: string;
}

/** Columns as in net/ipv4/tcp_ipv4.c: `sl local_address rem_address st ... inode`. Addresses are hexadecimal words. */
export function parseSockets(text: string, protocol: Socket['protocol']): Socket[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const columns = line.trim().split(/\s+/);
      const [local = '', state, inode] = [columns[1], columns[3], columns[9]];
      const [address = '', port = ''] = local.split(':');
      if (inode === undefined || port === '') return [];
      return [
        {
          protocol,
          localAddress: parseWords(address),
          localPort: Number.parseInt(port, 16),
          state: stateOf(protocol, state),
          uid: Number(columns[7]),
          inode,
        },
      ];
    });
}

/** TCP_ESTABLISHED is 1 and TCP_LISTEN is 10; an unconnected UDP socket has 7. */
function stateOf(protocol: Socket['protocol'], state = ''): Socket['state'] {
  if (state === '01') return 'established';
  return state === (protocol === 'tcp' ? '0A' : '07') ? 'listening' : 'other';
}

/** Each word of four bytes is in the byte order of the host, little endian on every machine that this runs on. */
function parseWords(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) =>
    (word.match(/../g) ?? []).toReversed().map((byte) => Number.parseInt(byte, 16)),
  );
  if (bytes.length === 4) return bytes.join('.');
  const mapped = bytes.slice(0, 12).every((byte, at) => byte === (at < 10 ? 0 : 255));
  if (mapped) return bytes.slice(12).join('.');
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16),
  );
  return groups.join(':');
}

export interface HostSockets {
  readonly sockets: readonly Socket[];
  /** Inodes of the sockets of programs that administer this host, such as sshd. */
  readonly administering: ReadonlySet<string>;
  /** Inodes of sockets of any process. Null: not read, because no administration arrives by a tunnel. */
  readonly owned: ReadonlySet<string> | null;
  /** The first port that connections to others get. */
  readonly ephemeralFrom: number;
}

/**
 * The ports by which this host is administered: where its sshd listens or has connections, and, if a connection arrives
 * by a tunnel that the kernel ends (WireGuard, VXLAN), the UDP ports that no process has. Sorted. Pure.
 */
export function findManagement(host: HostSockets): ManagementPort[] {
  const { sockets, administering, owned, ephemeralFrom } = host;
  const found = new Map<string, ManagementPort>();
  const add = ({ protocol, localPort: port }: Socket): void =>
    void found.set(`${protocol} ${port}`, { protocol, port });
  for (const socket of sockets) {
    // What sshd forwards for a user listens under that user's account, or has an ephemeral port.
    const isOwn =
      socket.state === 'listening'
        ? socket.uid === 0
        : socket.state === 'established' && socket.localPort < ephemeralFrom;
    if (administering.has(socket.inode) && isOwn) add(socket);
    const isKernels = owned !== null && socket.protocol === 'udp' && !owned.has(socket.inode);
    if (isKernels && socket.state === 'listening') add(socket);
  }
  return [...found.values()].toSorted(
    (a, b) => a.protocol.localeCompare(b.protocol) || a.port - b.port,
  );
}

/** Local addresses of live connections to what administers this host. */
export function administeredAt({ sockets, administering }: HostSockets): Set<string> {
  return new Set(
    sockets
      .filter(({ inode, state }) => state === 'established' && administering.has(inode))
      .map(({ localAddress }) => localAddress),
  );
}
