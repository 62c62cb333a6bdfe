import { type Filter, type Opening, opening, type Signature, signature } from '../filter.ts';
import { PROXIED } from './tcp-syn-proxy.ts';

/** The kind of a packet in the five high bits of its first byte. */
const KIND = 'f8';
const RESET_V2 = '38';
const RESET_V3 = '50';

function ofKind(hex: string, minLength: number, maxLength?: number): Signature {
  return signature([{ offset: 0, hex, mask: KIND }], minLength, maxLength);
}

/** On TCP behind a length of two bytes. */
function opensWith(hex: string): Opening {
  return opening([{ offset: 2, hex, mask: KIND }]);
}

export const openvpn = {
  type: 'openvpn',
  name: 'OpenVPN',
  category: 'protocols',
  description: 'OpenVPN servers on UDP and TCP, by the start of their handshake.',
  usualPorts: [1194],
  udp: {
    // A start, then what acknowledges the server's, with the hello of TLS.
    greetings: [
      ofKind(RESET_V2, 14, 1400),
      ofKind(RESET_V3, 14, 1400),
      ofKind('20', 14, 1400),
      ofKind('28', 14, 128),
    ],
    // Control comes after the start only: who returned its session.
    replies: [ofKind('20', 14)],
    data: [ofKind('18', 14), ofKind('20', 14), ofKind('28', 14), ofKind('30', 2), ofKind('48', 5)],
    rates: { unvalidatedPps: 20, validatedPps: 100_000 },
    budgetPps: 500,
    validatedSeconds: 120,
  },
  tcp: { ...PROXIED, openings: [opensWith(RESET_V2), opensWith(RESET_V3)] },
} as const satisfies Filter;
