import { type Filter, type Signature, signature } from '../filter.ts';
import { PROXIED } from '../protocols/tcp-syn-proxy.ts';
import { TLS_HELLO } from '../protocols/tls.ts';

/**
 * An encrypted ping: a tag of four bytes, a kind, and a time of at most eleven
 * (https://github.com/mumble-voip/mumble, src/MumbleUDP.proto); two more where it asks for more.
 */
const PING = [6, 18] as const;

/**
 * The same, but for what begins with 1: the answer to a ping of server lists that is not encrypted, which a server of
 * 1.5 and later gives every source (`handlePing` of src/murmur/Server.cpp). One packet in 256 waits for the next.
 */
const PONGS: readonly Signature[] = Array.from({ length: 8 }, (_, bit) => {
  const mask = (1 << bit).toString(16).padStart(2, '0');
  return signature([{ offset: 0, hex: bit === 0 ? '00' : mask, mask }], ...PING);
});

export const mumble = {
  type: 'mumble',
  name: 'Mumble',
  category: 'games',
  description: 'Mumble servers: control by TLS on TCP, voice and pings on UDP.',
  usualPorts: [64738],
  udp: {
    greetings: [
      // The ping of server lists, which every source is answered by 24 bytes.
      signature('00000000', 12, 12),
      signature([], ...PING),
    ],
    // An encrypted ping is answered only to the holder of the key, which it got by TLS.
    replies: PONGS,
    data: [signature([], 5, 1024)],
    rates: { unvalidatedPps: 20, validatedPps: 500 },
    budgetPps: 500,
    validatedSeconds: 60,
  },
  tcp: { ...PROXIED, openings: TLS_HELLO },
} as const satisfies Filter;
