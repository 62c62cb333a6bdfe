import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { admitAgent } from '@portcullis/control/agent-credential.ts';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import { insertEdge } from '@portcullis/control/fleet/testing.ts';
import {
  approveHost,
  createToken,
  loadWaitingHosts,
  redeemToken,
} from '@portcullis/control/operator/joining/tokens.ts';
import { createJoinKey, type JoinKey, type JoinProof } from '@portcullis/link/join-key.ts';

const OPERATOR = { kind: 'operator', name: 'test', source: null, requestId: null } as const;
const FRA1 = { kind: 'edge', name: 'fra1' } as const;
const HOST = '127.0.0.5';
const THIEF = '127.0.0.66';

test('of an attacker who polls first and the host that the operator approved, only the host gets the credential', async (t) => {
  const { db, make, redeem, approve } = await start(t);
  const token = await make(true);
  const [host, thief] = [createJoinKey(), createJoinKey()];
  const poll = (key: JoinKey, source: string) => redeem(token, key.prove('edge', token), source);
  assert.equal((await poll(thief, THIEF)).credential, null);
  assert.equal((await poll(host, HOST)).credential, null);
  assert.equal((await poll(thief, THIEF)).credential, null);
  const waiting = await db.transaction().execute((tx) => loadWaitingHosts(tx, FRA1));
  assert.deepEqual(new Set(waiting), new Set([waitingAs(host, HOST), waitingAs(thief, THIEF)]));
  assert.deepEqual(await approve(host.fingerprint), waitingAs(host, HOST));

  const polls = Array.from({ length: 24 }, (_, index) =>
    index === 20 ? poll(host, HOST) : poll(thief, THIEF),
  );
  const results = await Promise.allSettled(polls);
  const given = results.flatMap((one, index) =>
    one.status === 'fulfilled' && one.value.credential !== null
      ? [{ index, credential: one.value.credential }]
      : [],
  );
  assert.deepEqual(
    given.map(({ index }) => index),
    [20],
  );
  assert.deepEqual(await admitAgent(db, FRA1, given[0]?.credential ?? null), { ok: true });
});

test('who has seen the token and the public key of the approved host has nothing without its private key', async (t) => {
  const { make, redeem, approve } = await start(t);
  const [token, otherToken] = [await make(true), await make(true)];
  const host = createJoinKey();
  const proof = host.prove('edge', token);
  await redeem(token, proof, HOST);
  await approve(host.fingerprint);
  const stolen = createJoinKey().prove('edge', token);
  const forged: readonly (JoinProof | null)[] = [
    null,
    { ...proof, signature: stolen.signature },
    { ...proof, signature: host.prove('edge', otherToken).signature },
    { ...proof, signature: host.prove('node', token).signature },
    { ...proof, signature: 'A'.repeat(86) },
    { public_key: 'A'.repeat(43), signature: proof.signature },
    { public_key: '!'.repeat(43), signature: proof.signature },
  ];
  for (const one of forged) await assert.rejects(redeem(token, one, THIEF), /upgrade|not signed/);
  assert.equal((await redeem(token, stolen, THIEF)).credential, null);
  assert.notEqual((await redeem(token, proof, HOST)).credential, null);
});

test('an approval names a key that waits; of hosts that wait, only the newest are kept', async (t) => {
  const { db, make, redeem, approve } = await start(t);
  const token = await make(true);
  const host = createJoinKey();
  assert.equal(await approve(host.fingerprint), null);
  for (let count = 0; count < 40; count += 1) {
    await redeem(token, createJoinKey().prove('edge', token), THIEF);
  }
  await redeem(token, host.prove('edge', token), HOST);
  const { rows } = await sql<{ hosts: number }>`
    select count(*)::integer as hosts from join_hosts`.execute(db);
  assert.equal(rows[0]?.hosts, 16);
  assert.notEqual(await approve(host.fingerprint), null);
});

test('a token that asks for no approval works as before, also for a host that sends no key', async (t) => {
  const { make, redeem } = await start(t);
  for (const withKey of [false, true]) {
    const token = await make(false);
    const proof = withKey ? createJoinKey().prove('edge', token) : null;
    assert.notEqual((await redeem(token, proof, HOST)).credential, null);
    await assert.rejects(redeem(token, proof, HOST), /was used at/);
  }
});

async function start(t: TestContext) {
  const { db } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  return {
    db,
    async make(needsApproval: boolean): Promise<string> {
      const expiresAt = new Date(Date.now() + 3_600_000);
      const token = await db
        .transaction()
        .execute((tx) => createToken(tx, { agent: FRA1, expiresAt, needsApproval }, OPERATOR));
      assert.ok(token !== null);
      return token;
    },
    redeem: (token: string, proof: JoinProof | null, source: string) =>
      db
        .transaction()
        .execute((tx) => redeemToken(tx, { kind: 'edge', token, proof, source, requestId: 'r' })),
    approve: (fingerprint: string) =>
      db.transaction().execute((tx) => approveHost(tx, FRA1, fingerprint, OPERATOR)),
  };
}

function waitingAs({ fingerprint }: JoinKey, source: string) {
  return { fingerprint, source };
}
