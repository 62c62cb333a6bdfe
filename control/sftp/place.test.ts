import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { uuidOf } from '../game-servers/testing/servers.ts';
import { dataOf } from '../testing/client.ts';
import { startSftpWorld, type SftpWorld } from './testing.ts';

const FINGERPRINT = 'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU';
const PLACE = `/api/x1/game-servers/${uuidOf(1)}/sftp`;
const OWN = `/api/portal/organisations/acme/x1/game-servers/${uuidOf(1)}/sftp`;

async function read(world: SftpWorld): Promise<Record<string, unknown>> {
  const reply = await world.session('member').get(OWN);
  assert.equal(reply.status, 200, reply.text);
  return dataOf(reply);
}

test('shows where a server is reached by SFTP, as its node reports it, with a line to copy', async (t) => {
  const world = await startSftpWorld(t);
  const { node, db } = world;
  const none = { host: '198.51.100.10', port: null, fingerprint: null, url: null };
  assert.deepEqual(await read(world), {
    ...none,
    // Of several that begin alike, only the whole uuid names one.
    server: '6f1c2f1e',
    user: 'member@acme.example.6f1c2f1e',
  });
  node.sftp = { port: 2_022, address: null, fingerprint: FINGERPRINT };
  await node.beat();
  assert.deepEqual(await read(world), {
    host: '198.51.100.10',
    port: 2_022,
    fingerprint: FINGERPRINT,
    server: '6f1c2f1e',
    user: 'member@acme.example.6f1c2f1e',
    url: 'sftp://member%40acme.example.6f1c2f1e@198.51.100.10:2022',
  });
  await sql`update nodes set addresses = '{2001:db8::7}'`.execute(db);
  assert.match(String((await read(world))['url']), /@\[2001:db8::7\]:2022$/);
  node.sftp = { ...node.sftp, address: '192.0.2.4' };
  await node.beat();
  assert.equal((await read(world))['host'], '192.0.2.4');
  await sql`update nodes set sftp_host = 'games.example.net'`.execute(db);
  assert.match(String((await read(world))['url']), /@games\.example\.net:2022$/);
  await sql`update game_servers set node_id = (select node_id from game_servers where uuid = ${uuidOf(1)})`.execute(
    db,
  );
  assert.equal((await read(world))['server'], uuidOf(1));
  node.sftp = null;
  await node.beat();
  assert.deepEqual([(await read(world))['port'], (await read(world))['fingerprint']], [null, null]);
});

test('shows it to keys for files without a user, and to nobody without the right to connect', async (t) => {
  const world = await startSftpWorld(t);
  world.node.sftp = { port: 2_022, address: null, fingerprint: FINGERPRINT };
  await world.node.beat();
  const key = await world.client({ abilities: ['game-servers.read', 'game-servers.files'] });
  const shown = dataOf<Record<string, unknown>>(await key.get(PLACE));
  assert.deepEqual([shown['user'], shown['url'], shown['port']], [null, null, 2_022]);
  const reader = await world.client({ abilities: ['game-servers.read'] });
  assert.equal((await reader.get(PLACE)).status, 403);
  assert.equal((await world.session('read-only').get(OWN)).status, 403);
  const other = PLACE.replace(uuidOf(1), uuidOf(9));
  assert.equal((await key.get(other)).status, 404);
});
