import type { Join } from './session.ts';
import { Udp } from './udp.ts';
import { readText } from './wire-strings.ts';

const OUR_TOKEN = Buffer.from('11223344', 'hex');
/** Control packet without a token yet; message 5 asks for one, and is padded so that it amplifies nothing. */
const TOKEN_REQUEST = Buffer.concat([
  Buffer.from('040000ffffffff05', 'hex'),
  OUR_TOKEN,
  Buffer.alloc(508),
]);
const CONNECTIONLESS = 0x21;
const GET_INFO = Buffer.from('\xff\xff\xff\xffgie3\x01', 'latin1');
const INFO = Buffer.from('\xff\xff\xff\xffinf3', 'latin1');

/** Teeworlds 0.7: the list of servers' question, after the handshake by tokens. Source: src/engine/shared/network.h. */
export const joinTeeworlds: Join = async (host, port) => {
  const udp = await Udp.open(host, port);
  const token = await udp.ask(TOKEN_REQUEST, (packet) =>
    packet.length >= 12 && packet[7] === 5 && packet.subarray(3, 7).equals(OUR_TOKEN)
      ? packet.subarray(8, 12)
      : null,
  );
  const question = Buffer.concat([Buffer.from([CONNECTIONLESS]), token, OUR_TOKEN, GET_INFO]);
  const info = await udp.ask(question, (packet) =>
    packet.subarray(9, 17).equals(INFO) ? packet.subarray(18) : null,
  );
  const [version, afterVersion] = readText(info, 0);
  const [name, afterName] = readText(info, afterVersion);
  const [, afterHost] = readText(info, afterName);
  const [map] = readText(info, afterHost);
  return { facts: { name, version, detail: map }, heard: null, close: () => udp.close() };
};
