import type { Family } from '@portcullis/core/net/address.ts';

/** The handshake options of a TCP server, which a SYN proxy must announce for it. */
export interface TcpServer {
  /** The payload bytes of a segment. */
  readonly mss: number;
  /** Null without window scaling. */
  readonly windowScale: number | null;
  readonly timestamps: boolean;
  readonly sack: boolean;
}

/** The options of Linux on Ethernet, used until the server has been probed. */
export const LINUX_SERVER: Readonly<Record<Family, TcpServer>> = {
  4: { mss: 1460, windowScale: 7, timestamps: true, sack: true },
  6: { mss: 1440, windowScale: 7, timestamps: true, sack: true },
};
