import type { Join } from './session.ts';
import { Tcp } from './tcp.ts';
import { readText } from './wire-strings.ts';

/** https://github.com/OpenTTD/OpenTTD/blob/13.0/src/network/core/tcp_game.h */
const SERVER_GAME_INFO = 6;
const CLIENT_GAME_INFO = 7;
const INFO_VERSION = 6;

/** OpenTTD 13: the question of the list of servers, on TCP. */
export const joinOpenttd: Join = async (host, port) => {
  const tcp = await Tcp.open(host, port);
  tcp.write(Buffer.from([3, 0, CLIENT_GAME_INFO]));
  const size = (await tcp.read(2)).readUInt16LE();
  const packet = await tcp.read(size - 2);
  if (packet[0] !== SERVER_GAME_INFO || packet[1] !== INFO_VERSION)
    throw new Error(`no game info but packet ${packet[0]}, version ${packet[1]}`);
  // Type, version, how NewGRFs are written, version of the game script.
  const [, afterScript] = readText(packet, 7);
  if (packet[afterScript] !== 0) throw new Error('NewGRFs were not expected');
  // Two dates and the numbers of companies stand before the names.
  const [name, afterName] = readText(packet, afterScript + 1 + 4 + 4 + 1 + 1 + 1);
  const [version, next] = readText(packet, afterName);
  const detail = packet[next] === 0 ? 'no password' : 'password';
  return { facts: { name, version, detail }, heard: null, close: () => tcp.close() };
};
