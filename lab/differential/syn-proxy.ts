import assert from 'node:assert/strict';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import type { Draw } from './draw.ts';
import { assertNone, belongs, deliveredOf, isProxied, type Known, type State } from './expected.ts';
import { type Numbered, PLAIN } from './frames.ts';
import { FLAGS, opens } from './segments.ts';
import { type Judged, type JudgedWire, LOCAL } from './wire.ts';

const LOCALS: readonly string[] = Object.values(LOCAL);

interface Answered {
  readonly packet: Packet;
  readonly vlan: number | null;
  readonly cookie: number;
}

/**
 * Everything that a server gets is held to `decide`, whatever stands in front of it. A SYN proxy keeps three things
 * from it that are one verdict to `decide`, and are distinguished here: what asks for a connection is answered in the
 * server's place, who brings the cookie back is announced to the server, and all else is dropped without a word.
 */
export class JudgedProxy {
  readonly #wire: JudgedWire;
  #answered: readonly Answered[] = [];
  /** Packets that the rules let in to a port with a SYN proxy, by what became of them. */
  readonly seen = { answered: 0, silent: 0, established: 0, opened: 0, refused: 0 };

  constructor(wire: JudgedWire) {
    this.#wire = wire;
  }

  judged(what: {
    readonly state: State;
    readonly packets: readonly Numbered[];
    readonly known: Known;
    readonly judged: Judged;
  }): void {
    const { state, packets, known, judged } = what;
    // Where nobody else does, the host itself waits for the other parts of what is for it.
    const whole = packets.filter(
      ({ packet }) => packet.fragment === 'none' || !LOCALS.includes(packet.destination),
    );
    const wrong = whole.filter(
      (one) => judged.delivered.has(one.id) !== (deliveredOf(state, one, known).action === 'pass'),
    );
    assertNone(state, wrong, `delivered otherwise, of ${packets.length}`);
    const proxied = packets.filter((one) => isProxied(state, one, known));
    const asking = proxied.filter(({ packet, form }) => {
      return opens(form.flags) && packet.fragment === 'none';
    });
    this.seen.silent += proxied.length - asking.length;
    this.seen.established += packets.filter(
      (one) => belongs(one, known) && isProxied(state, one),
    ).length;
    this.#assertAnswered(state, packets, asking);
  }

  #assertAnswered(state: State, packets: readonly Numbered[], asking: readonly Numbered[]): void {
    const cookies = this.#wire.answered();
    this.#answered = asking.flatMap(({ packet, form: { vlan } }) => {
      const cookie = cookies.get(connectionOf(packet));
      return cookie === undefined ? [] : { packet, vlan, cookie };
    });
    this.seen.answered += this.#answered.length;
    const unanswered = asking.filter(
      (one) => !mayBeUnheard(one) && !cookies.has(connectionOf(one.packet)),
    );
    assertNone(state, unanswered, 'not answered by the SYN proxy');
    const wanted = new Set(asking.map(({ packet }) => connectionOf(packet)));
    const others = packets.filter(({ packet }) => {
      const connection = connectionOf(packet);
      return cookies.has(connection) && !wanted.has(connection);
    });
    assertNone(state, others, 'answered by the SYN proxy, and asked for no connection');
  }

  /**
   * Asserts handshakes: of those that were answered last, every other one brings its cookie back: servers hear of
   * these, once, and of nobody else; what brings it is the proxy's.
   */
  async assertHandshakes(draw: Draw): Promise<void> {
    const all = this.#answered.map(({ packet, vlan, cookie }, index) => {
      const honest = index % 2 === 0;
      const flags = index % 4 < 2 ? FLAGS.ack : FLAGS.ack | FLAGS.psh;
      // The lowest bits choose among a few segment sizes: any of these is a cookie too.
      const acknowledged = ((cookie + 1) ^ (honest ? 0 : 0x40_0000)) >>> 0;
      const form = { ...PLAIN, vlan, flags, sequence: 1, acknowledged };
      return { honest, one: draw.number(packet, form) };
    });
    // Another packet of the same addresses and ports may have had one.
    this.#wire.forgetConnections();
    const judged = await this.#wire.judge(all.map(({ one }) => one));
    const delivered = all.filter(({ one }) => judged.delivered.has(one.id));
    assert.deepEqual(delivered, [], 'a server got the end of a handshake that is not its own');
    const honest = all.filter((ack) => ack.honest).map(({ one }) => connectionOf(one.packet));
    assert.deepEqual([...this.#wire.opened()].toSorted(), [...new Set(honest)].toSorted());
    this.seen.opened += honest.length;
    this.seen.refused += all.length - honest.length;
    this.#wire.forgetConnections();
  }
}

/**
 * The kernel's SYN proxy takes the checksum of an IPv6 segment for wrong where nobody has looked at it before
 * (nft_synproxy.c reads the addresses of an IPv4 header): receive offload does that, but not in these.
 */
function mayBeUnheard({ packet: { family }, form: { cut, vlan, extensions } }: Numbered): boolean {
  return family === 6 && (cut !== 'whole' || vlan !== null || extensions.length > 0);
}

/** The connection as the wire names connections. */
function connectionOf({ source, sourcePort, destination, destinationPort }: Packet): string {
  return [
    canonicalAddress(source),
    sourcePort,
    canonicalAddress(destination),
    destinationPort,
  ].join(' ');
}
