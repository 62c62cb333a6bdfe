import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { OPERATOR_PREFIX as API } from '@portcullis/contract/operator-endpoints.ts';
import { assertRefused, dataOf, type TestReply } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

async function start(t: Parameters<typeof startEnvironment>[0]) {
  const environment = await startEnvironment(t);
  const abilities = ['operator.read', 'operator.manage'];
  const operator = await environment.client({ organisationId: null, abilities });
  const patch = (path: string, json: unknown) => operator.send('PATCH', API + path, { json });
  return { ...environment, operator, patch };
}

function errorsOf(reply: TestReply): string[] {
  const { errors } = assertRefused(reply, 422, 'invalid_request') as {
    readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
  };
  return errors.map(({ pointer, detail }) => `${pointer} ${detail}`);
}

test('a node keeps what a patch does not name, and its addresses are canonical', async (t) => {
  const { operator, patch, db } = await start(t);
  const offer = { memory: 4_096, addresses: ['2001:DB8::1', '198.51.100.7'], ports: '80, 443-445' };
  const made = await operator.put(`${API}/nodes/n1`, offer);
  assert.deepEqual(dataOf(made), {
    name: 'n1',
    memory: 4_096,
    disk: null,
    addresses: ['2001:db8::1', '198.51.100.7'],
    ports: '80,443-445',
    mounts: [],
    keep_days: 7,
    sftp_host: null,
    owner: 'portal',
  });
  const { memory, addresses } = dataOf<{ memory: number | null; addresses: string[] }>(
    await patch('/nodes/n1', { memory: null }),
  );
  assert.deepEqual([memory, addresses], [null, ['2001:db8::1', '198.51.100.7']]);
  const twice = await patch('/nodes/n1', { addresses: ['2001:db8::1', '2001:DB8::1'] });
  assert.deepEqual(errorsOf(twice), ['/addresses/1 The address 2001:db8::1 is here twice.']);
  assert.equal((await operator.send('DELETE', `${API}/nodes/n1`)).status, 200);
  const { rows } = await sql`select from nodes where name = 'n1'`.execute(db);
  assert.equal(rows.length, 0);
});

test('a new exporter says of what it is believed, and one that says nothing stays as it is', async (t) => {
  const { operator } = await start(t);
  const put = (exporters: object) =>
    operator.put(`${API}/collectors/c1`, { listen: '0.0.0.0:6343', exporters });
  assert.match(errorsOf(await put([{ ip: '192.0.2.1' }])).join(), /^\/exporters\/0 Say of which/);
  assert.equal((await put([{ ip: '192.0.2.1', prefixes: ['203.0.113.0/24'] }])).status, 201);
  const { exporters } = dataOf<{ exporters: unknown }>(
    await put([{ ip: '192.0.2.1', sampling_rate: 512 }]),
  );
  assert.deepEqual(exporters, [
    { ip: '192.0.2.1', sampling_rate: 512, prefixes: ['203.0.113.0/24'] },
  ]);
});

test('a responder is a webhook: its secret is not shown, and no command is taken by hand', async (t) => {
  const { operator, patch, db } = await start(t);
  const webhook = { webhook: 'https://scrubber.example', secret: 'hush', at: { mbps: 8_000 } };
  const made = await operator.put(`${API}/responders/r1`, webhook);
  assert.deepEqual(dataOf(made), {
    name: 'r1',
    command: null,
    webhook: 'https://scrubber.example/',
    secret: null,
    prefixes: null,
    at: { pps: null, mbps: 8_000 },
    timeout_seconds: 10,
    expires_seconds: 3_600,
    owner: 'portal',
  });
  const changed = dataOf<{ at: unknown }>(await patch('/responders/r1', { at: { pps: 9 } }));
  assert.deepEqual(changed.at, { pps: 9, mbps: 8_000 });
  const { rows } = await sql<{ secret: string; audited: string }>`
    select spec -> 'call' ->> 'secret' as secret, (select string_agg(detail::text, ' ') from audit) as audited
      from responders`.execute(db);
  assert.equal(rows[0]?.secret, 'hush');
  assert.doesNotMatch(rows[0]?.audited ?? '', /hush/);
  const command = await operator.put(`${API}/responders/r2`, { command: ['/bin/true'] });
  assert.match(errorsOf(command).join(), /^\/command .*only the fleet file/);
});
