import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveEdges, TestEdge } from '@portcullis/control/fleet/test-edge.ts';
import { insertEdge } from '@portcullis/control/fleet/testing.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';
import {
  ConnectionError,
  createClient,
  type InvalidRequestError,
  InstructionRefusedError,
  type KeyClient,
  NotEnforcedError,
  NotFoundError,
  ProblemError,
  RateLimitError,
  TimeoutError,
} from './index.ts';

const IP = '203.0.113.10';
const RULE = { action: 'allow', protocol: 'tcp', destination_port: '80,443' } as const;

function clientOf(
  url: string,
  authorization: string | null,
  settings: { fetch?: typeof fetch; retries?: number; timeoutMs?: number } = {},
): KeyClient {
  return createClient({ baseUrl: `${url}/`, key: authorization?.slice(7) ?? '', ...settings });
}

test('writes, reads and waits for the generation that it wrote', async (t) => {
  const { url, acme, db } = await startEnvironment(t);
  const client = clientOf(url, acme.authorization);
  const made = await client.createRules({ ip: IP, body: RULE });
  assert.equal(made.data.created, 2);
  assert.ok(made.response.generation !== null && made.response.requestId !== null);
  const { generation } = made.response;
  await assert.rejects(client.waitUntilLive(generation, { ip: IP }), NotEnforcedError);
  await assert.rejects(client.waitUntilLive(generation), NotEnforcedError);
  await insertEdge(db, 'fra1');
  const edge = new TestEdge(serveEdges(db).link, 'fra1', 'fra1');
  await edge.join();
  await client.waitUntilLive(generation, { ip: IP });
  await client.waitUntilLive(generation);
  const read = await client.readAcceptedAddress({ ip: IP });
  assert.deepEqual(
    read.data.rules.map((rule) => rule.destination_port),
    [80, 443],
  );
  const stale = { ip: IP, body: { rules: [], filters: [] } };
  await client.replaceAddress(stale, { ifMatch: read.response.etag ?? '' });
  const conflict = client.replaceAddress(stale, { ifMatch: read.response.etag ?? '' });
  await assert.rejects(conflict, { name: 'ConflictError', code: 'precondition_failed' });
});

test('waits until a time limit for what does not become live', async (t) => {
  const { url, acme, db } = await startEnvironment(t);
  const named = { name: 'fra1', site: 'fra', devices: ['eth0'], serves: ['0.0.0.0/0'] };
  const settings = {
    sees: 'both',
    fragments: 'reassemble',
    management: '[]',
    owner: 'fleet',
  } as const;
  await db
    .insertInto('edges')
    .values({ ...named, ...settings, enforcing_since: new Date(), mode: 'enforce' })
    .execute();
  const client = clientOf(url, acme.authorization);
  const { response } = await client.createRules({ ip: IP, body: RULE });
  const waited = client.waitUntilLive(response.generation, { ip: IP, timeoutMs: 300 });
  await assert.rejects(waited, TimeoutError);
});

test('throws errors with code, status and request id', async (t) => {
  const { url, acme } = await startEnvironment(t);
  const client = clientOf(url, acme.authorization);
  await assert.rejects(client.readFirewallAddress({ ip: '192.0.2.1' }), (error) => {
    assert.ok(error instanceof NotFoundError && error instanceof ProblemError);
    assert.deepEqual([error.status, error.code], [404, 'not_found']);
    return error.requestId !== null;
  });
  const invalid = client.createRules({ ip: IP, body: { ...RULE, destination_port: '0' } });
  await assert.rejects(invalid, (error: InvalidRequestError) => {
    assert.deepEqual(
      [error.name, error.errors[0]?.pointer],
      ['InvalidRequestError', '/destination_port'],
    );
    return true;
  });
  await assert.rejects(clientOf(url, null).listGameServers(), { name: 'AuthenticationError' });
  assert.throws(() => createClient({ baseUrl: 'ftp://x', key: 'k' }), TypeError);
  const away = clientOf('http://127.0.0.1:1', acme.authorization, { retries: 0 });
  await assert.rejects(away.listGameServers(), ConnectionError);
  await assert.rejects(client.readFirewallAddress({ ip: '..' }), TypeError);
});

test('repeats a write whose answer was lost, and it is done once', async (t) => {
  const { url, acme } = await startEnvironment(t);
  let lost = 0;
  const losing: typeof fetch = async (...request) => {
    const answer = await fetch(...request);
    if (lost++ > 0) return answer;
    await answer.text();
    throw new TypeError('the connection broke');
  };
  const client = clientOf(url, acme.authorization, { fetch: losing });
  const made = await client.createRules({ ip: IP, body: RULE });
  assert.deepEqual([made.data.created, made.response.isReplayed, lost], [2, true, 2]);
});

test('repeats nothing that could be done twice', async (t) => {
  const { url, acme } = await startEnvironment(t);
  let sent = 0;
  const losing: typeof fetch = async () => {
    sent++;
    throw new TypeError('the connection broke');
  };
  const client = clientOf(url, acme.authorization, { fetch: losing });
  await assert.rejects(
    client.setDefault({ body: { target: IP, default: 'deny' } }),
    ConnectionError,
  );
  assert.equal(sent, 1);
});

test('waits as long as Retry-After says, and gives up after its attempts', async () => {
  const answers = [
    new Response('{"code":"rate_limited","detail":"Slower."}', {
      status: 429,
      headers: { 'retry-after': '1' },
    }),
    new Response('<html>', { status: 502 }),
    new Response('{"data":[]}'),
  ];
  const fetchNext: typeof fetch = async () => answers.shift() ?? Response.error();
  const begin = performance.now();
  await clientOf('http://control', null, { fetch: fetchNext }).listGameServers();
  assert.ok(performance.now() - begin >= 1000);
  const limited: typeof fetch = async () =>
    new Response('{"code":"rate_limited","detail":"Slower."}', { status: 429 });
  const refused = clientOf('http://control', null, { fetch: limited, retries: 1 });
  await assert.rejects(refused.listGameServers(), RateLimitError);
});

test('does not repeat an instruction that a node refused', async () => {
  let sent = 0;
  const refusing: typeof fetch = async () => {
    sent++;
    return new Response('{"ok":false,"message":"The node refused."}', { status: 502 });
  };
  const client = clientOf('http://control', null, { fetch: refusing });
  await assert.rejects(
    client.sendPowerSignal({ slice: 's', body: { signal: 'stop' } }),
    InstructionRefusedError,
  );
  assert.equal(sent, 1);
});

test('ends when its signal is aborted or its time is over', async () => {
  const silent: typeof fetch = (_, init) =>
    new Promise((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error));
    });
  const client = clientOf('http://control', null, { fetch: silent, retries: 0, timeoutMs: 20 });
  await assert.rejects(client.listGameServers(), TimeoutError);
  const patient = clientOf('http://control', null, { fetch: silent });
  await assert.rejects(patient.listGameServers(undefined, { timeoutMs: 20 }), TimeoutError);
  const stopping = new AbortController();
  const waiting = patient.listGameServers(undefined, { signal: stopping.signal });
  stopping.abort(new Error('no longer needed'));
  await assert.rejects(waiting, /no longer needed/);
});

test('reads page after page from its own base, whatever the links are based on', async (t) => {
  const { url, acme } = await startEnvironment(t);
  const client = clientOf(url, acme.authorization);
  for (const ip of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
    await client.createRules({ ip, body: RULE });
  }
  const seen: string[] = [];
  for await (const page of client.pages.listHeldAddresses({ query: { per_page: 2 } })) {
    assert.ok(page.data.addresses.length <= 2);
    seen.push(...page.data.addresses.map(({ ip }) => ip));
  }
  assert.deepEqual(seen, ['198.51.100.10', '203.0.113.1', '203.0.113.2', '203.0.113.3']);
});

test('speaks for a session below the organisation, with the header against forged requests', async () => {
  const sent: [string, string | null, string | null][] = [];
  const recording: typeof fetch = async (url, init) => {
    const headers = new Headers(init?.headers);
    sent.push([
      new Request(url).url,
      headers.get('x-portcullis-csrf'),
      headers.get('authorization'),
    ]);
    return new Response('{"data":{}}');
  };
  const client = createClient({
    baseUrl: 'http://control',
    organisation: 'acme',
    fetch: recording,
  });
  await client.readFirewallAddress({ ip: '2001:db8::1' });
  await client.createRules({ ip: IP, body: RULE });
  const base = 'http://control/api/portal/organisations/acme/v1/firewall/ips';
  assert.deepEqual(sent, [
    [`${base}/2001%3Adb8%3A%3A1`, null, null],
    [`${base}/${IP}/rules`, '1', null],
  ]);
});
