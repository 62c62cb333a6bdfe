import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import pg from 'pg';
import { loadMigrations, migrateDatabase } from '@portcullis/control/db/migrate.ts';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import { skipUnless } from '../../requirements.ts';
import { Installation, PORTS } from './installation.ts';
import type { Known } from './make-fixture.ts';
import { FIXTURES, restoreThen, ROOT } from './then.ts';

const IP = '203.0.113.10';
const RULES = `/api/v1/firewall/ips/${IP}`;

const NEEDS = ['root', 'netns', 'nft', 'postgres', 'nats-server'] as const;

for (const commit of FIXTURES)
  test(
    `an installation of ${commit} that lost power goes on under this version, and nothing is lost`,
    {
      skip: skipUnless(NEEDS),
    },
    (t) => goesOn(t, commit),
  );

async function goesOn(t: TestContext, commit: string): Promise<void> {
  const { url } = await testDatabase(t);
  const { home, known } = await restoreThen(t, commit, url);
  const now = new Installation({ checkout: ROOT, home, databaseUrl: url });
  t.after(() => now.cutPower());
  const site: Site = { now, known, url };

  await t.test('its edge enforces from its disk before control is there', async () => {
    now.startEdge();
    await now.until('the kernel has the rules', () => /\b1900\b/.test(ruleset(now)));
  });
  await t.test('every migration since applies, and the way back is named', () => migrates(site));
  await t.test('keys of then read the firewall of then', () => readsFirewall(site));
  await t.test('attacks, changes and the audit trail of then are history', () =>
    readsHistory(site),
  );
  await t.test('people sign in, sessions go on, and links of then work', () => meetsPeople(site));
  await t.test('its agents join with their credentials, also over NATS', () => joins(site));
  await t.test('a token of then makes a new agent', () => usesToken(site));
  await t.test('its server runs again, with its files', () => runsServer(site));
  await t.test('a new rule becomes live at its edge', () => becomesLive(site));
}

interface Site {
  readonly now: Installation;
  readonly known: Known;
  readonly url: string;
}

async function migrates({ now, url }: Site): Promise<void> {
  const migrations = await loadMigrations();
  const before = await applied(url);
  const then = migrations.slice(0, before.length);
  assert.deepEqual(
    before,
    then.map(({ name }) => name),
  );
  await now.startControl();
  assert.deepEqual(
    await applied(url),
    migrations.map(({ name }) => name),
  );
  if (then.length === migrations.length) return;
  await assert.rejects(
    migrateDatabase({ url, migrationUrl: null }, then),
    /newer than this Portcullis.*empty database.*portcullis restore FILE/,
  );
}

async function applied(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      'select name from migrations order by name',
    );
    return rows.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

async function readsFirewall({ now, known }: Site): Promise<void> {
  const key = known.keys.acme;
  const { status, body } = await now.call<{
    data: { rules: readonly { id: number }[]; filters: unknown };
  }>('GET', RULES, { key });
  assert.equal(status, 200);
  const { rules, filters } = body.data;
  const ids = rules.map(({ id }) => id);
  for (const id of known.rules.kept) assert.ok(ids.includes(id), `rule ${id}`);
  assert.ok(!ids.includes(known.rules.deleted));
  // Two of its own, and that of its group.
  assert.equal(rules.length, 3);
  assert.match(JSON.stringify(filters), /27015/);
  const blocked = await now.call('GET', '/api/x1/firewall/blocked', { key });
  assert.match(JSON.stringify(blocked.body), /198\.51\.100\.0\/28/);
  const fleet = await now.call('GET', '/api/operator/fleet', { key: known.keys.operator });
  assert.equal(fleet.status, 200);
  assert.match(JSON.stringify(fleet.body), /edge-1/);
}

async function readsHistory({ now, known }: Site): Promise<void> {
  interface Attack {
    readonly id: number;
    readonly attack_type: string;
    readonly mitigated_at: string | null;
  }
  const key = known.keys.acme;
  const { body } = await now.call<{ data: Attack[] }>('GET', '/api/v1/attacks', { key });
  const attack = body.data.find(({ id }) => id === known.attack.id);
  assert.equal(attack?.attack_type, known.attack.type);
  assert.equal(typeof attack?.mitigated_at === 'string', known.attack.isMitigated ?? true);
  const { cookie } = known.owner;
  const path = `/api/portal/organisations/acme/firewall/ips/${IP}/history`;
  const history = await now.call('GET', path, { cookie });
  assert.equal(history.status, 200);
  assert.match(JSON.stringify(history.body), /198\.51\.100\.66/, 'the deleted rule');
  const audit = await now.call('GET', '/api/operator/audit', { key: known.keys.operator });
  assert.match(JSON.stringify(audit.body), /rule\.create/);
}

async function meetsPeople({ now, known }: Site): Promise<void> {
  const { operator, owner, links } = known;
  const session = (cookie: string) => now.call('GET', '/api/portal/session', { cookie });
  for (const { cookie, email } of [operator, owner]) {
    const { status, body } = await session(cookie);
    assert.equal(status, 200, `the session of ${email}`);
    assert.match(JSON.stringify(body), new RegExp(email));
  }
  const signIn = async (email: string, password: string) =>
    (await now.call('POST', '/api/portal/sign-in', { body: { email, password } })).status;
  assert.equal(await signIn(operator.email, operator.password), 200);
  assert.equal(await signIn(owner.email, owner.password), 200);
  const accept = async (body: object) =>
    (await now.call('POST', '/api/portal/links/accept', { body })).status;
  const password = 'another long passphrase';
  const bob = { email: 'bob@acme.example', name: 'Bob' };
  assert.equal(await accept({ token: links.invitation, ...bob, password }), 200, 'the invitation');
  assert.equal(await signIn(bob.email, password), 200);
  assert.equal(await accept({ token: links.reset, password }), 200, 'the link for a new password');
  assert.equal(await signIn(owner.email, password), 200);
  assert.equal((await session(owner.cookie)).status, 401, 'sessions end with a new password');
}

async function joins({ now }: Site): Promise<void> {
  // With its configuration of then: an upgrade of control does not touch other hosts.
  await now.startNats();
  now.startCollector('flows');
  now.startCollector('far');
  now.startNode();
  for (const name of ['edge', 'node']) await now.logged(name, 'joined control');
  for (const name of ['flows', 'far']) await now.logged(name, 'detection settings received');
}

async function usesToken({ now, known }: Site): Promise<void> {
  const token = known.joinToken;
  const body = { kind: 'node', token };
  const joined = await now.call<{ data: { name: string; credential: string | null } }>(
    'POST',
    '/api/portal/agents/join',
    { body },
  );
  assert.equal(joined.status, 200, JSON.stringify(joined.body));
  assert.equal(joined.body.data.name, 'node-2');
  assert.match(joined.body.data.credential ?? '', /./);
}

async function runsServer({ now, known }: Site): Promise<void> {
  const key = known.keys.acme;
  const path = `/api/v1/game-servers/${known.server}`;
  await now.until('the server runs', async () => {
    const { body } = await now.call<{ data?: { state: string } }>('GET', path, { key });
    return body.data?.state === 'running';
  });
  await now.until('it accepts players', () =>
    new RegExp(`:${PORTS.game}\\b`).test(now.run('ss', '-Htln')),
  );
  const notes = join(now.home, 'node/node/servers', known.server, 'notes.txt');
  assert.equal(readFileSync(notes, 'utf8'), 'of a player\n');
}

async function becomesLive({ now, known }: Site): Promise<void> {
  const key = known.keys.acme;
  const rule = { action: 'deny', protocol: 'tcp', destination_port: '4321' };
  const written = await now.call('POST', `${RULES}/rules`, { key, body: rule });
  assert.equal(written.status, 201);
  const generation = Number(written.headers['portcullis-generation']);
  assert.ok(generation > known.generation);
  await now.until('it is live', async () => {
    const { headers } = await now.call('GET', RULES, { key });
    return Number(headers['portcullis-generation']) >= generation;
  });
  assert.match(ruleset(now), /4321/);
}

function ruleset(now: Installation): string {
  return now.run('nft', 'list', 'ruleset');
}
