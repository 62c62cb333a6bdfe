import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '@portcullis/control/db/database.ts';
import { insertEdge } from '@portcullis/control/fleet/testing.ts';
import { dataOf, type TestReply } from '@portcullis/control/testing/client.ts';
import { ALL_ABILITIES, startEnvironment } from '@portcullis/control/testing/fixture.ts';
import { tokenOf } from '@portcullis/control/testing/people.ts';

const PORTAL = '/api/portal';
const ACME = `${PORTAL}/organisations/acme`;
const ONCE = { 'idempotency-key': 'once' };
/** Control signs with these, so it has to have them; nobody reads them by the API. */
const SIGNED_WITH = ['webhooks', 'people'];

test('a secret that was shown is in no log, in no audit row and in no stored answer, and a repeat has none', async (t) => {
  const env = await startEnvironment(t);
  const { db, acme, session } = env;
  await insertEdge(db, 'fra1');
  const operator = session('operator');
  const key = { name: 'ci', abilities: ALL_ABILITIES };
  const hook = { name: 'hook', url: 'https://example.net/hook', events: ['attack.opened'] };
  const invited = { email: 'bob@example.net', role: 'member' };
  const operated = `${PORTAL}/operator`;
  const made: Readonly<Record<string, () => Promise<TestReply>>> = {
    key: () => session('admin').post(`${ACME}/keys`, key),
    'key of the operator': () => operator.post(`${operated}/organisations/acme/keys`, key, ONCE),
    webhook: () => session('admin').post(`${ACME}/webhooks`, hook),
    'second secret of a webhook': () => session('admin').send('POST', `${ACME}/webhooks/1/secret`),
    invitation: () => session('admin').post(`${ACME}/invitations`, invited),
    'join command': () => operator.post(`${operated}/fleet/edges/fra1/join`, {}, ONCE),
  };
  const secrets: string[] = [acme.authorization?.slice('Bearer '.length) ?? '', tokenOf('owner')];
  for (const [what, make] of Object.entries(made)) {
    const found = secretsOf(await make());
    assert.ok(found.length > 0, `${what} shows no secret`);
    secrets.push(...found);
  }
  for (const what of ['key of the operator', 'join command']) {
    const again = await made[what]?.();
    assert.equal(again?.headers.get('idempotency-replayed'), 'true', what);
    assert.deepEqual(again && secretsOf(again), [], `${what}: a repeat`);
  }
  // What is presented is logged no more than what is shown.
  for (const secret of secrets) {
    await env.anonymous(`Bearer ${secret}`).get(`/api/v1/firewall/ips/203.0.113.1?key=${secret}`);
    const token = { json: { token: secret }, headers: { 'x-portcullis-csrf': '1' } };
    await env.anonymous().send('POST', `${PORTAL}/links/read`, token);
  }
  const logged = env.logged();
  assert.match(logged, /"operation":"readLink"/);
  const stored = await everyRow(db);
  assert.match(stored.get('audit') ?? '', /key\.create/);
  assert.match(stored.get('idempotency_keys') ?? '', /"secret\W+null/);
  for (const secret of secrets) {
    for (const form of formsOf(secret)) {
      assert.ok(!logged.includes(form), `the log has ${form}`);
      for (const [table, rows] of stored) {
        if (SIGNED_WITH.includes(table)) continue;
        assert.ok(!rows.includes(form), `${table} has ${form}`);
      }
    }
  }
});

/** Keys, webhook secrets, tokens of links and of hosts in an answer. */
function secretsOf(reply: TestReply): string[] {
  dataOf(reply);
  const shapes = /pcl_[0-9A-Za-z]{20,}|whsec_[A-Za-z0-9+/=]{40,}|pcj_[\w-]{32}|(?<=#)[\w-]{43}/g;
  return reply.text.match(shapes) ?? [];
}

/** A bytea is shown in hexadecimal, of what stands behind the name of a secret's kind too. */
function formsOf(secret: string): string[] {
  const bare = secret.replace(/^(?:whsec|pcl|pcj)_/, '');
  const hex = (text: string, encoding?: BufferEncoding): string =>
    Buffer.from(text, encoding).toString('hex');
  return [bare, hex(secret), hex(bare), hex(bare, 'base64'), hex(bare, 'base64url')];
}

async function everyRow(db: Db): Promise<Map<string, string>> {
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = current_schema()`.execute(db);
  assert.ok(rows.length > 30, `${rows.length} tables`);
  const texts = new Map<string, string>();
  for (const { name } of rows) {
    const all = await sql<{ text: string | null }>`
      select string_agg(one::text, e'\n') as text from ${sql.table(name)} one`.execute(db);
    texts.set(name, all.rows[0]?.text ?? '');
  }
  return texts;
}
