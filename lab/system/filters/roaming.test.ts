import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FilteredServer } from './filtered-server.ts';

/** RFC 9000, 17.2 and 17.3: packets of a client, and of a connection that the server has. */
const INITIAL = `c300000001${'11'.repeat(8)}`.padEnd(2400, '0');
const OPENING = `e100000001${'44'.repeat(60)}`;
const OPEN = `41${'55'.repeat(40)}`;
const FULL = `41${'66'.repeat(1251)}`;
const ASKS_MUCH = `41${'55'.repeat(8)}ff${'55'.repeat(60)}`;
/** A server says by a shorter one that it has no such connection. */
const OTHERS = Array.from({ length: 64 }, (_, at) => (0x40 + at).toString(16));
const RESET = `42${'77'.repeat(20)}`;

const WIREGUARD = {
  initiation: `01000000${'11'.repeat(144)}`,
  response: `02000000${'22'.repeat(88)}`,
};
const TRANSPORT = `04000000${'44'.repeat(60)}`;

for (const early of [false, true]) {
  describe(`a client whose address changes, ${early ? 'behind the early drop' : 'by nftables alone'}`, () => {
    it('goes on with its QUIC connection at once, and no flood of short headers with it', async (t) => {
      const server = FilteredServer.create(t, 'quic', 443, early ? ['bpf'] : []);
      if (server === null) return;
      await server.filter({ early });
      await server.answer('udp', [
        ['c300000001', OPENING],
        [ASKS_MUCH, FULL],
        [OPEN, OPEN],
        // A forged source is answered too.
        ...OTHERS.map((first): [string, string] => [first, RESET]),
      ]);
      // The request comes before the first short header of the server.
      await server.ask('udp', [
        [INITIAL, OPENING],
        [OPEN, OPEN],
        [ASKS_MUCH, FULL],
      ]);
      assert.equal((await server.validated()).length, 1);
      // Another socket: as much as the rate of one source.
      const played = Array.from({ length: 40 }, (): [string, string] => [OPEN, OPEN]);
      await server.ask('udp', played);
      assert.equal((await server.validated()).length, 1, 'a short answer may be a reset');
      const much = Array.from({ length: 120 }, (): [string, string] => [OPEN, OPEN]);
      await server.ask('udp', [[OPEN, OPEN], [ASKS_MUCH, FULL], ...much]);
      assert.equal((await server.validated()).length, 2, 'a full one is none');
      assert.deepEqual(await server.dropped(), {});
      await server.assertRoamingLimited();
      const forged = (await server.validated()).filter((key) => key.startsWith('11.'));
      assert.deepEqual(forged, [], 'resets validate no source');
      // What is nothing of QUIC at all ends before.
      await server.ask('udp', [['80'.repeat(60), null]]);
      assert.equal(server.droppedEarly(), early ? 1 : 0);
      // Greetings have a rate of their own, which a flood of what roams does not use up.
      await server.ask('udp', [[INITIAL, OPENING]]);
    });

    it('goes on with its WireGuard tunnel at once', async (t) => {
      const server = FilteredServer.create(t, 'wireguard', 51_820, early ? ['bpf'] : []);
      if (server === null) return;
      await server.filter({ early });
      await server.answer('udp', [
        [WIREGUARD.initiation, WIREGUARD.response],
        [TRANSPORT, TRANSPORT],
        [WIREGUARD.response, TRANSPORT],
      ]);
      const tunnel = Array.from({ length: 40 }, (): [string, string] => [TRANSPORT, TRANSPORT]);
      await server.ask('udp', [[WIREGUARD.initiation, WIREGUARD.response], ...tunnel]);
      await server.ask('udp', tunnel);
      await server.ask('udp', [[WIREGUARD.response, TRANSPORT], ...tunnel]);
      assert.equal((await server.validated()).length, 3);
      assert.deepEqual(await server.dropped(), {});
    });
  });
}
