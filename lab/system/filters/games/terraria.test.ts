import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

/** Packet 1, a string behind its length. https://tshock.readme.io/docs/multiplayer-packet-structure */
function connectRequest(version: string): string {
  const body = Buffer.concat([Buffer.of(1, version.length), Buffer.from(version)]);
  const length = Buffer.alloc(2);
  length.writeUInt16LE(body.length + 2);
  return Buffer.concat([length, body]).toString('hex');
}
/** Packet 3: goes on as this player. */
const CONTINUE = '0500030000';

test('terraria passes a version as the first packet, and no other opening', async (t) => {
  const server = FilteredServer.create(t, 'terraria', 7777);
  if (server === null) return;
  await server.filter();
  const versions = ['Terraria279', 'tModLoaderv2024.10'].map(connectRequest);
  await server.answer('tcp', [
    ...versions.map((version): [string, string] => [version, CONTINUE]),
    // The player's appearance, which is no version: the connection is known by then.
    ['0600', CONTINUE],
  ]);
  for (const version of versions) {
    await server.ask('tcp', [
      [version, CONTINUE],
      ['060004000000', CONTINUE],
    ]);
  }
  await server.assertFloodsDropped();
  await server.assertBadOpeningDropped();
});
