import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { test } from 'node:test';
import { ENDPOINTS, V1_PREFIX } from '@portcullis/contract/endpoints.ts';
import { OPERATOR_ENDPOINTS, OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import { PORTAL_ENDPOINTS, PORTAL_PREFIX } from '@portcullis/contract/portal-endpoints.ts';
import { X1_ENDPOINTS, X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import type { TestClient } from '@portcullis/control/testing/client.ts';
import { startEnvironment, type TestEnvironment } from '@portcullis/control/testing/fixture.ts';

const IP = '203.0.113.10';
const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';

const fields = (count: number, name = '') =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`${name}${at}`, 1])));

/** Bodies that cost much to refuse, by what they are; each within 512 KiB. */
const HOSTILE: Readonly<Record<string, string>> = {
  'numbered fields': fields(40_000),
  'named fields': fields(30_000, 'field'),
  'wrong items': JSON.stringify(Array.from({ length: 200_000 }, () => 1)),
  'a known list of wrong items': `{"rules":[${'{"a":1},'.repeat(50_000)}{}],"filters":[]}`,
  'nested lists': `[${'[[[[[[[[1]]]]]]]],'.repeat(20_000)}1]`,
  'deep nests': '['.repeat(250_000) + ']'.repeat(250_000),
  'a long text': JSON.stringify({ email: 'a'.repeat(400_000), token: 'b'.repeat(50_000) }),
  'a list of long texts': JSON.stringify({
    ids: Array.from({ length: 5 }, () => '9'.repeat(90_000)),
  }),
  'a long key': JSON.stringify({ ['k'.repeat(400_000)]: 1 }),
  'control characters': JSON.stringify({ note: '\u0001'.repeat(60_000) }),
};

interface Called {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly isOpen: boolean;
  readonly client: TestClient;
}

/** Every row with a body, by somebody who may call it. */
async function rowsWithBody(environment: TestEnvironment): Promise<readonly Called[]> {
  const { acme, anonymous, session, client } = environment;
  const operator = await client({
    organisationId: null,
    abilities: ['operator.read', 'operator.manage'],
  });
  const csrf = anonymous('');
  const named = (prefix: string, path: string) =>
    `${prefix}${path}`
      .replace('{ip}', IP)
      .replace('{slice}', UUID)
      .replace('{organisation}', 'acme')
      .replace(/\{\w+\}/g, '1');
  const of = (rows: readonly object[], prefix: string, who: (role: string) => TestClient) =>
    (rows as readonly (Called & { body?: object; role?: string })[])
      .filter(({ body }) => body !== undefined)
      .map(({ operationId, method, path, role = '' }) => {
        const isOpen = role === 'anyone';
        return { operationId, method, path: named(prefix, path), isOpen, client: who(role) };
      });
  return [
    ...of(ENDPOINTS, V1_PREFIX, () => acme),
    ...of(X1_ENDPOINTS, X1_PREFIX, () => acme),
    ...of(OPERATOR_ENDPOINTS, OPERATOR_PREFIX, () => operator),
    ...of(PORTAL_ENDPOINTS, PORTAL_PREFIX, (role) =>
      role === 'anyone' ? csrf : session(role === 'operator' ? 'operator' : 'owner'),
    ),
  ];
}

const CSRF = { 'x-portcullis-csrf': '1' };

/** Milliseconds of the processor, in this process, which is the server too. The least of a few runs. */
async function costOf(send: () => Promise<unknown>): Promise<number> {
  const costs: number[] = [];
  for (let run = 0; run < 3; run += 1) {
    const before = process.cpuUsage();
    await send();
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1_000);
  }
  return Math.min(...costs);
}

test('no body of any row, by anybody, costs much more to refuse than an honest large one to check', async (t) => {
  const environment = await startEnvironment(t);
  const rows = await rowsWithBody(environment);
  assert.ok(rows.length > 30, `${rows.length}`);
  const rule = { action: 'deny', protocol: 'udp', source_ip: null, destination_port: '19' };
  const honest = { rules: Array.from({ length: 4_000 }, () => rule), filters: [] };
  const { acme } = environment;
  const allowed = 15 * (await costOf(() => acme.put(`/api/x1/firewall/ips/${IP}`, honest)));
  let refused = 0;
  for (const { operationId, method, path, isOpen, client } of rows) {
    for (const [name, raw] of Object.entries(HOSTILE)) {
      const send = async () => {
        const reply = await client.send(method, path, { raw, headers: CSRF });
        assert.ok(
          reply.status >= 400 && reply.status < 500,
          `${operationId}, ${name}: ${reply.text}`,
        );
        if (isOpen) assert.ok([413, 429].includes(reply.status), `${operationId}: ${reply.text}`);
        assert.ok(reply.text.length < 10_000, `${operationId}, ${name}`);
      };
      // The first one alone tells whether the others are needed: most are far below.
      const before = process.cpuUsage();
      await send();
      const { user, system } = process.cpuUsage(before);
      const cost = (user + system) / 1_000;
      const settled = cost <= allowed ? cost : await costOf(send);
      assert.ok(settled <= allowed, `${operationId}, ${name}: ${settled} ms of ${allowed} ms`);
      refused += 1;
    }
  }
  assert.ok(refused > 300, `${refused}`);
});

test('many query parameters and many headers are refused in little time, with few errors', async (t) => {
  const { acme, url } = await startEnvironment(t);
  const query = Array.from({ length: 2_500 }, (_, at) => `q${at}=1`)
    .join('&')
    .slice(0, 14_000);
  const reply = await acme.get(`/api/v1/attacks?${query}`);
  assert.equal(reply.status, 422, reply.text);
  assert.equal((reply.body as { errors: unknown[] }).errors.length, 20);
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`x-${at}`, '1']));
    httpRequest(`${url}/api/v1/attacks`, { headers, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    })
      .on('error', reject)
      .end();
  });
  assert.equal(status, 431);
});
