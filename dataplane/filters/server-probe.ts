import { connect } from 'node:net';
import { getOption } from '../kernel/socket-option.ts';
import { LINUX_SERVER, type TcpServer } from './tcp-server.ts';

const CONNECT_MS = 2_000;
/** Source: linux/tcp.h (TCP_INFO, struct tcp_info, TCPI_OPT_*). */
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
const INFO_BYTES = 24;
const OFFSET = { options: 5, windowScale: 6, sendMss: 16 } as const;
const OPTION = { timestamps: 1, sack: 2, windowScale: 4 } as const;
/** The option shortens the payload of a segment, but not the announced MSS. */
const TIMESTAMPS_BYTES = 12;

/**
 * Reads the handshake options of a server from one connection to it. Returns null if no server listens or the
 * connection is not permitted. A server on this host announces the large segments of loopback, so the MSS is limited to
 * that of Ethernet.
 */
export function probeServer(address: string, port: number): Promise<TcpServer | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: CONNECT_MS });
    const finish = (server: TcpServer | null): void => {
      socket.destroy();
      resolve(server);
    };
    socket.once('error', () => finish(null));
    socket.once('timeout', () => finish(null));
    socket.once('connect', () => {
      const { _handle: handle } = socket as { _handle?: { readonly fd?: number } };
      const info =
        handle?.fd === undefined ? null : getOption(handle.fd, IPPROTO_TCP, TCP_INFO, INFO_BYTES);
      finish(
        info === null ? null : readInfo(info, LINUX_SERVER[address.includes(':') ? 6 : 4].mss),
      );
    });
  });
}

/** Decodes `struct tcp_info`. */
export function readInfo(info: Buffer, largestMss: number): TcpServer {
  const options = info.readUInt8(OFFSET.options);
  const timestamps = (options & OPTION.timestamps) !== 0;
  const mss = info.readUInt32LE(OFFSET.sendMss) + (timestamps ? TIMESTAMPS_BYTES : 0);
  return {
    mss: Math.min(mss, largestMss),
    windowScale:
      (options & OPTION.windowScale) === 0 ? null : info.readUInt8(OFFSET.windowScale) & 15,
    timestamps,
    sack: (options & OPTION.sack) !== 0,
  };
}
