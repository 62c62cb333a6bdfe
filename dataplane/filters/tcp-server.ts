import type { Family } from '@portcullis/core/net/address.ts';

/** What a TCP server says of itself in a handshake, which a SYN proxy has to say for it. */
export interface TcpServer {
  /** Bytes of payload in a segment. */
  readonly mss: number;
  /** Null: it does not scale windows. */
  readonly windowScale: number | null;
  readonly timestamps: boolean;
  readonly sack: boolean;
}

/** Of Linux on Ethernet, until the real server has been asked. */
export const LINUX_SERVER: Readonly<Record<Family, TcpServer>> = {
  4: { mss: 1460, windowScale: 7, timestamps: true, sack: true },
  6: { mss: 1440, windowScale: 7, timestamps: true, sack: true },
};
