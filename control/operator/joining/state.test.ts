import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { enrolAgent } from '../../agent-credential.ts';
import { testDatabase } from '../../db/testing.ts';
import { createJoining } from './index.ts';

const OPERATOR = { kind: 'operator', name: 'test', source: null, requestId: null } as const;

test('a node is live with its engine, and says why it is not', async (t) => {
  const { db } = await testDatabase(t);
  await sql`insert into nodes (name, owner) values ('node-1', 'portal')`.execute(db);
  const agent = { kind: 'node', name: 'node-1' } as const;
  const secret = await db.transaction().execute((tx) => enrolAgent(tx, agent, OPERATOR));
  const { readAgentState } = createJoining().handlers;
  const state = async () => {
    const body = { ...agent, secret: secret ?? '' };
    const answer = await readAgentState({ body } as never, db);
    return Object(answer.body).data as object;
  };
  const report = (engine: object | null) =>
    sql`update nodes set instance = 'one', engine = ${JSON.stringify(engine)}::jsonb`.execute(db);
  assert.deepEqual(await state(), { connected: false, live: false, reason: null });
  await sql`update nodes set instance = 'one'`.execute(db);
  assert.deepEqual(await state(), { connected: true, live: false, reason: null });
  const problem = 'Docker does not answer at /var/run/docker.sock.';
  await report({ kind: 'docker', version: null, problem });
  assert.deepEqual(await state(), { connected: true, live: false, reason: problem });
  await report({ kind: 'docker', version: '29.0', problem: null });
  assert.deepEqual(await state(), { connected: true, live: true, reason: null });
});
