import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TEEWORLDS } from '../../../stack/game-servers.ts';
import { FilteredServer } from '../filtered-server.ts';

/** The token of 0.7: https://github.com/teeworlds/teeworlds/blob/0.7.5/src/engine/shared/network.h */
const OURS = '11223344';
/** Message 5, without a token yet, padded. */
const TOKEN_REQUEST = `040000ffffffff05${OURS}${'00'.repeat(508)}`;

test('teeworlds answers the list of servers and lets a player in, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'teeworlds', TEEWORLDS.port, ['teeworlds']);
  if (server === null) return;
  await server.filter();
  server.start(TEEWORLDS.command, `sv_register 0;sv_port ${TEEWORLDS.port}`);
  const player = await server.join('teeworlds');
  assert.deepEqual(await server.validated(), [], 'a token and information do not validate');
  await server.run('python3', '-c', CLIENT, server.address, `${server.port}`);
  assert.equal((await server.validated()).length, 1);
  await server.assertFloodsDropped();
  await player.close();
});

/** Asks for a token, connects with it, and is accepted. */
const CLIENT = `
import socket, sys
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.settimeout(5)
end.connect((sys.argv[1], int(sys.argv[2])))
end.send(bytes.fromhex('${TOKEN_REQUEST}'))
token = end.recv(2000)[8:12]
end.send(bytes.fromhex('040000') + token + bytes.fromhex('01${OURS}') + bytes(508))
assert end.recv(2000)[7] == 2, 'it is accepted'
`;
