import { type Filter, type Opening, opening, type Signature, signature } from '../filter.ts';
import { PROXIED } from './tcp-syn-proxy.ts';

/** The kind of a packet is in the five high bits of its first byte, the number of its key in the others. */
const KIND = 'f8';
/** A connection starts with key 0. */
const FIRST_KEY = 'ff';
const RESET_V2 = '38';
const RESET_V3 = '50';
/** The third packet of a client with tls-crypt-v2: its own key, wrapped (P_CONTROL_WKC_V1). */
const WRAPPED_KEY = '58';
const CONTROL = '20';
const ACKNOWLEDGEMENT = '28';
/** Names its peer, so that a connection goes on from another address (P_DATA_V2). */
const DATA = '48';

/**
 * The lengths by which OpenVPN tells its own starts from other protocols on a shared port (`is_openvpn_protocol` of
 * src/openvpn/ps.c): a wrapped key alone has 290 bytes.
 */
const START = [14, 255] as const;
const START_WITH_KEY = [336, 1279] as const;
/** Kind, session, number of acknowledged packets, one of them, and the session of the peer (ssl_pkt.h). */
const SHORTEST_ACKNOWLEDGEMENT = 22;
/** Kind and peer, the number of the packet, and a tag of 16 bytes. */
const SHORTEST_DATA = 24;

function ofKind(hex: string, minLength: number, maxLength?: number, mask = KIND): Signature {
  return signature([{ offset: 0, hex, mask }], minLength, maxLength);
}

function starts(hex: string, minLength: number, maxLength: number): Signature {
  return ofKind(hex, minLength, maxLength, FIRST_KEY);
}

/** On TCP behind a length of two bytes. */
function opensWith(hex: string, length: { readonly high: string; readonly mask: string }): Opening {
  return opening([
    { offset: 0, hex: length.high, mask: length.mask },
    { offset: 2, hex },
  ]);
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
      starts(RESET_V2, ...START),
      starts(RESET_V3, ...START_WITH_KEY),
      starts(WRAPPED_KEY, START_WITH_KEY[0], 1400),
      starts(CONTROL, 14, 1400),
      starts(ACKNOWLEDGEMENT, SHORTEST_ACKNOWLEDGEMENT, 128),
    ],
    // TLS of the server comes only to a source that returned the session of its start, data to one that has its keys.
    replies: [ofKind(CONTROL, 14), ofKind(DATA, SHORTEST_DATA)],
    data: [
      ofKind('18', 14),
      ofKind(WRAPPED_KEY, 14),
      ofKind(CONTROL, 14),
      ofKind(ACKNOWLEDGEMENT, 14),
      ofKind('30', 2),
      ofKind(DATA, 5),
    ],
    roaming: {
      kinds: [
        {
          // A client whose address changed. The number of its peer is below the clients that the server takes
          // (`multi_assign_peer_id` of src/openvpn/multi.c), so below 65,536.
          packets: [
            signature(
              [
                { offset: 0, hex: DATA, mask: KIND },
                { offset: 1, hex: '00' },
              ],
              SHORTEST_DATA,
            ),
          ],
          // A server answers nothing that its keys do not open.
          replies: [ofKind(CONTROL, 14), ofKind(DATA, SHORTEST_DATA)],
        },
      ],
      rates: { sourcePps: 20, budgetPps: 500 },
    },
    rates: { unvalidatedPps: 20, validatedPps: 100_000 },
    budgetPps: 500,
    validatedSeconds: 120,
  },
  tcp: {
    ...PROXIED,
    openings: [
      opensWith(RESET_V2, { high: '00', mask: 'ff' }),
      opensWith(RESET_V3, { high: '00', mask: 'f8' }),
    ],
  },
} as const satisfies Filter;
