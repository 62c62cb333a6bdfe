import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { test, type TestContext } from 'node:test';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import {
  type SendOptions,
  type SendResult,
  sendMessage,
} from '@portcullis/control/webhooks/send.ts';
import {
  addWebhook,
  happen,
  seedOrganisations,
  settled,
  startDeliveries,
} from '@portcullis/control/webhooks/testing/hooks.ts';

/** The operator opened everything, and meant the networks around this host. */
const EVERYTHING = ['0.0.0.0/0', '::/0'].flatMap(cidrOf);
const LOOPBACK = cidrOf('127.0.0.0/8');
/** The end of every failure; a failure that is no silence comes before it on a busy machine too. */
const TIMEOUT_MS = 2_000;
/** Where an answer is expected. */
const PATIENT_MS = 60_000;
const never = new AbortController().signal;

test('a webhook reaches no address of this host, by any family or form, though its network is open', async (t) => {
  const { port, connections } = await listen(t, () => {});
  const own = Object.values(networkInterfaces())
    .flatMap((all = []) => all.map(({ address }) => address))
    .filter((address) => !address.startsWith('fe80:'));
  assert.ok(own.includes('127.0.0.1'));
  const forms = [
    ...own,
    '127.1.2.3',
    '0.0.0.0',
    '::',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ];
  const results = await Promise.all(
    forms.map((address) => send({ resolve: async () => [address], networks: EVERYTHING, port })),
  );
  for (const { status } of results) assert.equal(status, null);
  assert.equal(connections(), 0);
});

test('a webhook reaches no address of its installation, such as that of the public URL, but what an operator names', async (t) => {
  const { port, connections } = await listen(t, answer);
  const installation = '127.9.9.9';
  const own = async () => {
    const address = parseAddress(installation);
    return address.ok ? [address.value] : [];
  };
  const options = { resolve: async () => [installation], own, port };
  assert.equal((await send({ ...options, networks: EVERYTHING })).status, null);
  assert.equal(connections(), 0);
  assert.equal(
    (await send({ ...options, networks: cidrOf(`${installation}/32`), timeoutMs: PATIENT_MS }))
      .status,
    204,
  );
});

test('a webhook says one sentence after one time for every failure, so it scans no ports', async (t) => {
  const silent = await listen(t, () => {});
  const garbled = await listen(t, (socket) => socket.end('220 mail.example ESMTP\r\n'));
  const closing = await listen(t, (socket) => socket.destroy());
  const closed = await listen(t, () => {});
  closed.server.close();
  const at = async (): Promise<string[]> => ['127.0.0.1'];
  const cases: Readonly<Record<string, Parameters<typeof send>[0]>> = {
    closed: { port: closed.port, resolve: at },
    silent: { port: silent.port, resolve: at },
    garbled: { port: garbled.port, resolve: at },
    closing: { port: closing.port, resolve: at },
    noTls: { port: garbled.port, resolve: at, scheme: 'https' },
    private: { port: silent.port, resolve: async () => ['10.0.0.1'] },
    cloud: { port: silent.port, resolve: async () => ['168.63.129.16'] },
    own: { port: silent.port, resolve: at, networks: EVERYTHING },
    unknown: { port: silent.port, resolve: () => Promise.reject(new Error('queryA ENOTFOUND')) },
    none: { port: silent.port, resolve: async () => [] },
  };
  const results = await Promise.all(Object.values(cases).map(send));
  assert.deepEqual(
    new Set(results.map(({ status, error }) => `${status} ${error}`)).size,
    1,
    JSON.stringify(results),
  );
  assert.doesNotMatch(results[0]?.error ?? '', /ECONN|ENOTFOUND|refused|reset|TLS|10\.0\.0\.1/);
  // None ends before the longest one may. A timer may fire slightly early.
  for (const { tookMs } of results) assert.ok(tookMs >= TIMEOUT_MS - 5, `${tookMs} ms`);
  const details = results.map(({ detail }) => detail);
  assert.ok(new Set(details).size > 5, 'the operator can tell them apart');
});

test('what the owner of a webhook reads of a delivery does not tell why there was no answer', async (t) => {
  const database = await testDatabase(t);
  await seedOrganisations(database.db);
  const closed = await listen(t, () => {});
  closed.server.close();
  const silent = await listen(t, () => {});
  const urls = [closed, silent].map(({ port }) => `http://127.0.0.1:${port}/`);
  const hooks = [];
  for (const url of [...urls, 'http://168.63.129.16/'])
    hooks.push(await addWebhook(database.db, url));
  startDeliveries(t, database, { retryMs: () => null, timeoutMs: TIMEOUT_MS });
  await happen(database.db);
  const attempts = [];
  for (const { id } of hooks) attempts.push((await settled(database.db, id))[0]?.log[0]);
  for (const attempt of attempts) {
    assert.equal(attempt?.response_status, null);
    assert.match(attempt?.error ?? '', /^No answer within 2 s: /);
    assert.ok((attempt?.duration_ms ?? 0) >= TIMEOUT_MS - 5);
    assert.deepEqual(Object.keys(attempt ?? {}).toSorted(), [
      'at',
      'duration_ms',
      'error',
      'response_status',
    ]);
  }
  const webhooks = await database.db.selectFrom('webhooks').select('disabled_reason').execute();
  for (const { disabled_reason: reason } of webhooks)
    assert.doesNotMatch(reason ?? '', /ECONN|refused/);
});

test('a webhook follows no redirect', async (t) => {
  const target = await listen(t, answer);
  const { port } = await listen(t, (socket) =>
    socket.end(
      `HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:${target.port}/\r\ncontent-length: 0\r\n\r\n`,
    ),
  );
  const at = async (): Promise<string[]> => ['127.0.0.1'];
  const { status } = await send({ port, resolve: at, timeoutMs: PATIENT_MS });
  assert.equal(status, 307);
  assert.equal(target.connections(), 0);
});

async function send({
  port,
  scheme = 'http',
  ...options
}: Partial<SendOptions> & {
  readonly port: number;
  readonly scheme?: string;
}): Promise<SendResult & { readonly tookMs: number }> {
  const message = { url: `${scheme}://receiver.example:${port}/`, headers: {}, body: '{}' };
  const begin = performance.now();
  const all = { networks: LOOPBACK, timeoutMs: TIMEOUT_MS, ...options };
  const result = await sendMessage(message, all, never);
  return { ...result, tookMs: performance.now() - begin };
}

function answer(socket: Socket): void {
  socket.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n');
}

/** Listens at every address of this host. */
async function listen(t: TestContext, onConnection: (socket: Socket) => void) {
  let count = 0;
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    count += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  server.listen(0);
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const at = server.address();
  assert.ok(at !== null && typeof at === 'object');
  return { server, port: at.port, connections: () => count };
}

function cidrOf(text: string) {
  const cidr = parseCidr(text);
  return cidr.ok ? [cidr.value] : [];
}
