import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

/** The handshake of 1.21.4: https://minecraft.wiki/w/Java_Edition_protocol/Server_List_Ping */
const HOST = Buffer.from('play.example.net');
const HANDSHAKE = packet(
  0,
  Buffer.from('8106', 'hex'),
  Buffer.of(HOST.length),
  HOST,
  Buffer.from('63dd01', 'hex'),
);
const LONG_HOST = Buffer.alloc(200, 'a');
const LONG_HANDSHAKE = packet(
  0,
  Buffer.from('8106c801', 'hex'),
  LONG_HOST,
  Buffer.from('63dd01', 'hex'),
);
const STATUS = packet(0, Buffer.of(2), Buffer.from('{}'));

test('minecraft-java passes old and new handshakes, and no other opening', async (t) => {
  const server = FilteredServer.create(t, 'minecraft-java', 25_565);
  if (server === null) return;
  await server.filter();
  await server.answer('tcp', [
    [HANDSHAKE.toString('hex'), STATUS.toString('hex')],
    [LONG_HANDSHAKE.toString('hex'), STATUS.toString('hex')],
    ['01', '09ff'],
    ['fe01', 'ff00'],
  ]);
  for (const hello of [HANDSHAKE, LONG_HANDSHAKE]) {
    await server.ask('tcp', [
      [hello.toString('hex'), STATUS.toString('hex')],
      // A ping of eight bytes, which is no handshake: the connection is known by then.
      [`01${'55'.repeat(8)}`, '09ff'],
    ]);
  }
  await server.ask('tcp', [['fe01fa', 'ff']]);
  await server.assertFloodsDropped();
  await server.assertBadOpeningDropped();
});

/** With its length as a VarInt. */
function packet(id: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.of(id), ...parts]);
  const length =
    body.length < 0x80 ? [body.length] : [(body.length & 0x7f) | 0x80, body.length >> 7];
  return Buffer.concat([Buffer.from(length), body]);
}
