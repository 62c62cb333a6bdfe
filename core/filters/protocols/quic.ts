import { type Filter, type Signature, signature } from '../filter.ts';

/** RFC 9000, 17.2: a long header while a connection opens. Of version 1: Initial, 0-RTT, Handshake. */
const INITIAL = 'c0';
const EARLY = 'd0';
const HANDSHAKE = 'e0';
/** Version 1 (RFC 9000), its drafts, and those of mvfst, which number their packets as it does. */
const VERSIONS = ['00000001', 'ff0000', 'faceb0'];
/** RFC 9369, 3.2: in version 2 the same kinds have other numbers. */
const INITIAL_V2 = 'd0';
const EARLY_V2 = 'e0';
const HANDSHAKE_V2 = 'f0';
const VERSION_2 = '6b3343cf';

/** The least length: the end of a handshake is not padded; 21 bytes are the shortest packet (RFC 9000, 10.3). */
const SHORTEST = 21;
/** Datagrams with Initial packets are padded (RFC 9000, 14.1). */
const PADDED = 1200;
/** The most of one link: what is longer is no packet of an open connection. */
const LONGEST = 1500;

function long(kind: string, version: string, minLength: number): Signature {
  return signature(
    [
      { offset: 0, hex: kind, mask: 'f0' },
      { offset: 1, hex: version },
    ],
    minLength,
  );
}

/** A bit of the peers, who may have agreed that the fixed bit means nothing (RFC 9287): the highest bit alone tells. */
const LONG = { offset: 0, hex: '80', mask: '80' } as const;
const SHORT = { offset: 0, hex: '00', mask: '80' } as const;
/** A bit of a source that has not agreed on anything that the filter has seen. */
const SHORT_FIXED = { offset: 0, hex: '40', mask: 'c0' } as const;

/**
 * The longest packet to which a stateless reset is shorter than 1,200 bytes: it is smaller than three times the packet
 * (RFC 9000, 10.3). nginx sends up to three times as much, and never more than 1,200 bytes
 * (src/event/quic/ngx_event_quic_output.c).
 */
const SMALL = 399;

export const quic = {
  type: 'quic',
  name: 'QUIC and HTTP/3',
  category: 'protocols',
  description: 'QUIC servers such as HTTP/3, by the first packets of a connection.',
  usualPorts: [443],
  udp: {
    greetings: [
      // Of any version: a server says which ones it has (RFC 9000, 6.1).
      signature([{ offset: 0, hex: INITIAL, mask: 'f0' }], PADDED),
      ...VERSIONS.flatMap((version) => [
        long(EARLY, version, SHORTEST),
        long(HANDSHAKE, version, SHORTEST),
      ]),
      long(INITIAL_V2, VERSION_2, PADDED),
      long(EARLY_V2, VERSION_2, SHORTEST),
      long(HANDSHAKE_V2, VERSION_2, SHORTEST),
    ],
    // Packets of an open connection.
    replies: [signature([SHORT], SHORTEST)],
    data: [signature([SHORT], SHORTEST), signature([LONG], SHORTEST)],
    roaming: {
      // A server answers the short header of no connection by a stateless reset, which looks like a short header. Longer
      // than one are the challenge of a new path, which is padded to 1,200 bytes (RFC 9000, 8.2.1), and full packets.
      kinds: [
        {
          packets: [signature([SHORT_FIXED], SHORTEST, SMALL)],
          replies: [signature([SHORT], PADDED)],
        },
        {
          packets: [signature([SHORT_FIXED], SMALL + 1, LONGEST)],
          replies: [signature([SHORT], PADDED + 1)],
        },
      ],
      rates: { sourcePps: 50, budgetPps: 1000 },
    },
    rates: { unvalidatedPps: 50, validatedPps: 20_000 },
    budgetPps: 2000,
    validatedSeconds: 60,
  },
  tcp: null,
} as const satisfies Filter;
