import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import type { Db } from '@portcullis/control/db/database.ts';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import { findLink } from '@portcullis/control/accounts/links/link-store.ts';
import { insertPerson } from '@portcullis/control/accounts/person-store.ts';
import { CommandSession } from './testing/run.ts';
import { prepareFirstOperator } from './up/first-operator.ts';

const session = new CommandSession({ PATH: process.env['PATH'], HOME: tmpdir() });
after(() => session.close());

function add(db: Db, email: string, isOperator: boolean): Promise<number> {
  const person = {
    email,
    name: 'Ada',
    passwordHash: '',
    isOperator,
    isProven: true,
    madeBy: null,
  };
  return db.transaction().execute((tx) => insertPerson(tx, person));
}

const LINK = /^https:\/\/portcullis\.example\/link#[A-Za-z0-9_-]{43}$/m;

test('portal link and portal reset print links that work once, for the public URL', async (t) => {
  const { db, url } = await testDatabase(t);
  const portcullis = (...args: readonly string[]) =>
    session.run(['portal', ...args, '--public-url', 'https://portcullis.example'], {
      DATABASE_URL: url,
    });
  const link = await portcullis('link');
  assert.match(link.out, LINK);
  const unknown = await portcullis('reset', 'ada@example.net');
  assert.deepEqual([unknown.code, unknown.out], [1, '']);
  assert.match(unknown.err, /nobody has the email ada@example\.net/);
  await add(db, 'ada@example.net', false);
  const { data: reset } = JSON.parse(
    (await portcullis('reset', 'Ada@example.net', '--json')).out,
  ) as {
    data: { url: string };
  };
  assert.match(reset.url, LINK);
  const kindOf = async (text: string) => (await findLink(db, text.trim().slice(-43)))?.kind;
  assert.equal(await kindOf(LINK.exec(link.out)?.[0] ?? ''), 'operator');
  assert.equal(await kindOf(reset.url), 'reset');
});

test('portal link gives the first operator the organisation of the first start, and others the one that is named', async (t) => {
  const { db, url } = await testDatabase(t);
  const names = ['default', 'acme'];
  const organisations = names.map((slug) => ({ slug, name: slug, owner: 'portal' as const }));
  await db.insertInto('organisations').values(organisations).execute();
  const link = async (...args: readonly string[]) => {
    const given = ['portal', 'link', ...args, '--public-url', 'https://portcullis.example'];
    const { out, err } = await session.run(given, { DATABASE_URL: url });
    const found = await findLink(db, LINK.exec(out)?.[0].slice(-43) ?? '');
    return { text: out + err, gives: found && [found.kind, found.organisation_slug, found.role] };
  };
  const first = await link();
  assert.deepEqual(first.gives, ['operator', 'default', 'owner']);
  assert.match(first.text, /also an owner of default/);
  await add(db, 'op@example.net', true);
  const later = await link();
  assert.deepEqual(later.gives, ['operator', null, null]);
  assert.match(later.text, /--organisation SLUG/);
  const named = await link('--organisation', 'acme');
  assert.deepEqual(named.gives, ['operator', 'acme', 'owner']);
  const unknown = await link('--organisation', 'nobody');
  assert.match(unknown.text, /there is no organisation nobody; there are: acme, default/);
});

test('a first start makes the link of the first operator, a later one says how to get another', async (t) => {
  const { db, url } = await testDatabase(t);
  const start = () => prepareFirstOperator(url, 'https://portcullis.example');
  const first = await start();
  assert.ok(first.kind === 'link');
  assert.match(first.url, LINK);
  assert.deepEqual(await start(), { kind: 'unused' });
  await add(db, 'op@example.net', true);
  assert.deepEqual(await start(), { kind: 'there' });
});
