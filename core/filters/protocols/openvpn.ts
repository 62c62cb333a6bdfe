import { type Filter, type Opening, opening, type Signature, signature } from '../filter.ts';
import { PROXIED } from './tcp-syn-proxy.ts';

/** The kind of a packet is in the five high bits of its first byte. */
const KIND = 'f8';
const RESET_V2 = '38';
const RESET_V3 = '50';
/** The third packet of a client with tls-crypt-v2: its own key, wrapped (P_CONTROL_WKC_V1). */
const WRAPPED_KEY = '58';
const CONTROL = '20';
const ACKNOWLEDGEMENT = '28';
/** Names its peer, so that a connection goes on from another address (P_DATA_V2). */
const DATA = '48';

function ofKind(hex: string, minLength: number, maxLength?: number): Signature {
  return signature([{ offset: 0, hex, mask: KIND }], minLength, maxLength);
}

/** On TCP behind a length of two bytes, below 2,048: the words of other protocols begin with letters. */
function opensWith(hex: string): Opening {
  return opening([
    { offset: 0, hex: '00', mask: 'f8' },
    { offset: 2, hex, mask: KIND },
  ]);
}

export const openvpn = {
  type: 'openvpn',
  name: 'OpenVPN',
  category: 'protocols',
  description: 'OpenVPN servers on UDP and TCP, by the start of their handshake.',
  usualPorts: [1194],
  udp: {
    // A start, then what acknowledges the server's, with the hello of TLS. Data is of a client whose address changed.
    greetings: [
      ofKind(RESET_V2, 14, 1400),
      ofKind(RESET_V3, 14, 1400),
      ofKind(WRAPPED_KEY, 14, 1400),
      ofKind(CONTROL, 14, 1400),
      ofKind(ACKNOWLEDGEMENT, 14, 128),
      ofKind(DATA, 20),
    ],
    // TLS of the server comes only to a source that returned the session of its start, data to one that has its keys.
    replies: [ofKind(CONTROL, 14), ofKind(DATA, 20)],
    data: [
      ofKind('18', 14),
      ofKind(WRAPPED_KEY, 14),
      ofKind(CONTROL, 14),
      ofKind(ACKNOWLEDGEMENT, 14),
      ofKind('30', 2),
      ofKind(DATA, 5),
    ],
    rates: { unvalidatedPps: 20, validatedPps: 100_000 },
    budgetPps: 500,
    validatedSeconds: 120,
  },
  tcp: { ...PROXIED, openings: [opensWith(RESET_V2), opensWith(RESET_V3)] },
} as const satisfies Filter;
