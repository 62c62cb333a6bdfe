import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../../db/testing.ts';
import type { Message } from '../../mail/index.ts';
import { makeLink } from './link-mail.ts';
import { findLink } from './link-store.ts';

const ACTOR = { kind: 'user', name: 'ada@example.net', source: null, requestId: null } as const;
const PUBLIC_URL = 'https://portcullis.example';

test('mails a link after the commit, that works, and says to whom', async (t) => {
  const { db } = await testDatabase(t);
  await sql`insert into organisations (slug, name, owner) values ('acme', 'Acme', 'portal')`.execute(
    db,
  );
  const sent: Message[] = [];
  const effects: (() => void)[] = [];
  const call = { afterCommit: (effect: () => void) => void effects.push(effect) };
  const mail = {
    allows: () => true,
    send: (message: Message) => void sent.push(message),
    stop: async () => {},
  };
  const invitation = {
    kind: 'invitation',
    email: 'bob@example.net',
    organisationId: 1,
    organisation: 'acme',
    role: 'member',
  } as const;
  await sql`insert into people (email, name, password_hash) values (${ACTOR.name}, 'Ada', '')`.execute(
    db,
  );
  await sql`insert into members (organisation_id, person_id, role) values (1, 1, 'owner')`.execute(
    db,
  );
  const deps = { actor: ACTOR, makerId: 1, publicUrl: PUBLIC_URL, mail };
  const made = await db.transaction().execute((tx) => makeLink(call, tx, invitation, deps));
  assert.equal(made.mailed_to, 'bob@example.net');
  assert.equal(sent.length, 0);
  for (const effect of effects) effect();
  assert.deepEqual(
    [sent[0]?.to, sent[0]?.subject],
    ['bob@example.net', 'Invitation to Acme on Portcullis'],
  );
  const [, token = ''] = /\/link#(\S+)/.exec(sent[0]?.text ?? '') ?? [];
  const mailed = await findLink(db, token);
  assert.deepEqual([mailed?.email, mailed?.proves], ['bob@example.net', true]);
  // What whoever made it sees is another token, which proves no address.
  const [, shown = ''] = made.url.split('#');
  const seen = await findLink(db, shown);
  assert.deepEqual([shown === token, seen?.id, seen?.proves], [false, mailed?.id, false]);
});

test('leaves a link to whoever made it without a mail server, or after too many mails', async (t) => {
  const { db } = await testDatabase(t);
  const call = { afterCommit: () => assert.fail('mailed') };
  const full = { allows: () => false, send: () => assert.fail('mailed'), stop: async () => {} };
  const wanted = { kind: 'invitation', email: 'bob@example.net', organisation: null } as const;
  for (const mail of [null, full]) {
    const deps = { actor: ACTOR, makerId: null, publicUrl: PUBLIC_URL, mail };
    const made = await db.transaction().execute((tx) => makeLink(call, tx, wanted, deps));
    assert.equal(made.mailed_to, null);
    assert.match(made.url, /^https:\/\/portcullis\.example\/link#/);
  }
});
