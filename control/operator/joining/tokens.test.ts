import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { admitAgent } from '../../agent-credential.ts';
import { testDatabase } from '../../db/testing.ts';
import { insertEdge } from '../../fleet/testing.ts';
import { parseCredential } from '@portcullis/link/credential.ts';
import { ensureInstallation, saveServers, signAccounts } from '../../nats/installation.ts';
import { createJoinKey, type JoinKey } from '@portcullis/link/join-key.ts';
import { approveHost, createToken, redeemToken } from './tokens.ts';

const OPERATOR = { kind: 'operator', name: 'test', source: null, requestId: null } as const;
const FRA1 = { kind: 'edge', name: 'fra1' } as const;
const HOUR_MS = 3_600_000;

async function start(t: TestContext, { needsApproval = false } = {}) {
  const { db } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  const make = async (): Promise<string> => {
    const expiresAt = new Date(Date.now() + HOUR_MS);
    const token = await db
      .transaction()
      .execute((tx) => createToken(tx, { agent: FRA1, expiresAt, needsApproval }, OPERATOR));
    assert.ok(token !== null);
    return token;
  };
  const redeem = (token: string, key: JoinKey | null = null, source = '192.0.2.7') => {
    const proof = key?.prove('edge', token) ?? null;
    return db
      .transaction()
      .execute((tx) => redeemToken(tx, { kind: 'edge', token, proof, source, requestId: 'r' }));
  };
  return { db, make, redeem };
}

test('of hosts that present one token at once, one gets a credential that works', async (t) => {
  const { db, make, redeem } = await start(t);
  const token = await make();
  const tries = await Promise.allSettled(Array.from({ length: 8 }, () => redeem(token)));
  const given = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value.credential] : []));
  assert.equal(given.length, 1);
  assert.deepEqual(await admitAgent(db, FRA1, given[0] ?? null), { ok: true });
  const { rows } = await sql<{ action: string; actor: string }>`
    select action, actor from audit where action = 'edge.enrol'`.execute(db);
  assert.deepEqual(rows, [{ action: 'edge.enrol', actor: 'a token for edge fra1' }]);
});

test('a token that asks for approval is worth nothing until then, and only a host that waits is approved', async (t) => {
  const { db, make, redeem } = await start(t, { needsApproval: true });
  const token = await make();
  const key = createJoinKey();
  const { fingerprint } = key;
  const approve = () =>
    db.transaction().execute((tx) => approveHost(tx, FRA1, fingerprint, OPERATOR));
  assert.equal(await approve(), null, 'no host waits');
  assert.deepEqual(await redeem(token, key), { name: 'fra1', credential: null });
  assert.deepEqual(await approve(), { fingerprint, source: '192.0.2.7' });
  assert.notEqual((await redeem(token, key)).credential, null);
  await assert.rejects(redeem(token, key), /was used at/);
});

test('with NATS the credential names its servers, and a replaced one is revoked there', async (t) => {
  const { db, make, redeem } = await start(t);
  const installation = await ensureInstallation(db);
  await saveServers(db, ['tls://nats.example.net:4222']);
  const keyOf = async (): Promise<string> => {
    const { credential } = await redeem(await make());
    const parsed = parseCredential(credential ?? '');
    assert.ok(parsed.ok && parsed.value.remote !== null);
    assert.deepEqual(parsed.value.remote.nats.servers, ['tls://nats.example.net:4222']);
    assert.match(parsed.value.remote.nats.ca ?? '', /BEGIN CERTIFICATE/);
    return claimsOf(parsed.value.remote.nats.jwt).sub as string;
  };
  const revoked = async (): Promise<string[]> => {
    const { accounts } = await signAccounts(db, installation);
    const { nats } = claimsOf(accounts[installation.account.publicName] ?? '');
    return Object.keys((nats as { revocations?: object }).revocations ?? {});
  };
  const first = await keyOf();
  assert.deepEqual(await revoked(), []);
  await keyOf();
  assert.deepEqual(await revoked(), [first]);
  await sql`delete from edges`.execute(db);
  assert.equal((await revoked()).length, 2);
});

test('replicas that make the keys of an installation at once get the same', async (t) => {
  const { db } = await start(t);
  const made = await Promise.all(Array.from({ length: 4 }, () => ensureInstallation(db)));
  assert.equal(new Set(made.map(({ account }) => account.publicName)).size, 1);
  assert.equal(new Set(made.map(({ authority }) => authority.cert)).size, 1);
});

function claimsOf(jwt: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
}
