import { inflateSync } from 'node:zlib';
import type { Join } from './session.ts';
import { Tcp } from './tcp.ts';
import { readText, u16, u32 } from './wire-strings.ts';

/** https://github.com/freeciv/freeciv/blob/R3_0/common/networking/packets.def */
const JOIN_REQUEST = 4;
const JOIN_REPLY = 5;
const CAPABILITY = '+Freeciv-3.0-network';
/** https://github.com/freeciv/freeciv/blob/R3_0/common/networking/packets.c: longer ones are compressed. */
const COMPRESSED_FROM = 16_385;
const JUMBO = 65_535;

/** Freeciv 3.0: joins as a player would, and hears what the server sends. */
export const joinFreeciv: Join = async (host, port) => {
  const tcp = await Tcp.open(host, port);
  const text = (value: string): Buffer => Buffer.from(`${value}\0`);
  const request = Buffer.concat([
    text('visitor'),
    text(CAPABILITY),
    text(''),
    ...[3, 0, 6].map(u32),
  ]);
  // The kind has one byte until both know what the other can do.
  tcp.write(Buffer.concat([u16(3 + request.length), Buffer.from([JOIN_REQUEST]), request]));
  const packets = readPackets(tcp);
  const reply = await joinReply(packets);
  const [message, afterMessage] = readText(reply, 1);
  if (reply[0] !== 1) throw new Error(`not let in: ${message}`);
  const [capability] = readText(reply, afterMessage);
  const version = /Freeciv-[\d.]+/.exec(capability)?.[0] ?? '';
  return {
    facts: { name: null, version, detail: message },
    heard: packets,
    close: () => tcp.close(),
  };
};

/** Others before it say that the server begins and ends to work on what was asked. */
async function joinReply(packets: AsyncGenerator<Buffer>): Promise<Buffer> {
  for (;;) {
    const { value, done } = await packets.next();
    if (done === true) throw new Error('no answer to joining');
    if (value[0] === JOIN_REPLY) return value.subarray(1);
  }
}

/** One by one, each from its kind on. Several may come as one that is compressed. */
async function* readPackets(tcp: Tcp): AsyncGenerator<Buffer> {
  for (;;) {
    const length = (await tcp.read(2)).readUInt16BE();
    if (length < COMPRESSED_FROM) {
      yield await tcp.read(length - 2);
      continue;
    }
    const header = length === JUMBO ? 6 : 2;
    const size = length === JUMBO ? (await tcp.read(4)).readUInt32BE() : length - COMPRESSED_FROM;
    yield* splitPackets(inflateSync(await tcp.read(size - header)));
  }
}

function* splitPackets(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at + 2 <= bytes.length; at += Math.max(2, bytes.readUInt16BE(at)))
    yield bytes.subarray(at + 2, at + bytes.readUInt16BE(at));
}
