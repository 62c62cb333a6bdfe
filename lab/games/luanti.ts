import type { Join } from './session.ts';
import { Udp } from './udp.ts';
import { u16, u32 } from './wire-strings.ts';

const PROTOCOL = u32(0x4f457403);
const CONTROL = 0;
const ORIGINAL = 1;
const RELIABLE = 3;
const ACK = 0;
const SET_PEER_ID = 1;
const FIRST_SEQUENCE = 65500;
const TOSERVER_INIT = 2;
const TOCLIENT_HELLO = 2;
/** Bytes of protocol, peer and channel, and of a reliable packet's own header. */
const HEADER = 7;
const RELIABLE_HEADER = 3;
/** The player: as which player the client asks; nobody's until a password is set for it. */
export const LUANTI_PLAYER = 'visitor';
/** https://github.com/luanti-org/luanti/blob/5.6.1/src/network/networkprotocol.h */
const MECHANISMS: Readonly<Record<number, string>> = {
  1: 'legacy password',
  2: 'has a password',
  4: 'sets a first password',
};

/** Luanti: gets a peer id, sends a name, and gets how that player must log in. */
export const joinLuanti: Join = async (host, port) => {
  const udp = await Udp.open(host, port);
  let peer = 0;
  const asked = (packet: Buffer, want: (inner: Buffer) => boolean): Promise<Buffer> =>
    udp.ask(packet, (bytes) => {
      if (bytes[HEADER] !== RELIABLE) return null;
      const acknowledged = bytes.subarray(HEADER + 1, HEADER + RELIABLE_HEADER);
      udp.send(framed(peer, bytes[6] ?? 0, Buffer.from([CONTROL, ACK]), acknowledged));
      const inner = bytes.subarray(HEADER + RELIABLE_HEADER);
      return want(inner) ? inner : null;
    });
  // Says nothing: whoever has no peer id yet is given one.
  const nothing = [Buffer.from([RELIABLE]), u16(FIRST_SEQUENCE), Buffer.from([ORIGINAL]), u16(0)];
  const given = await asked(
    framed(0, 0, ...nothing),
    (inner) => inner[0] === CONTROL && inner[1] === SET_PEER_ID,
  );
  peer = given.readUInt16BE(2);
  const name = Buffer.from(LUANTI_PLAYER);
  // Highest serialization, no compression, protocols 37 to 41.
  const init = [u16(TOSERVER_INIT), Buffer.from([29]), u16(0), u16(37), u16(41)];
  const hello = await asked(
    framed(peer, 1, Buffer.from([ORIGINAL]), ...init, u16(name.length), name),
    (inner) => inner[0] === ORIGINAL && inner.readUInt16BE(1) === TOCLIENT_HELLO,
  );
  const version = `protocol ${hello.readUInt16BE(6)}`;
  const mechanism = hello.readUInt32BE(8);
  const detail = MECHANISMS[mechanism] ?? `mechanism ${mechanism}`;
  return { facts: { name: null, version, detail }, heard: null, close: () => udp.close() };
};

function framed(peer: number, channel: number, ...parts: readonly Buffer[]): Buffer {
  return Buffer.concat([PROTOCOL, u16(peer), Buffer.from([channel]), ...parts]);
}
