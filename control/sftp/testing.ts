import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import type { SftpAdmitted, SftpLogin } from '@portcullis/link/messages/sftp.ts';
import { sql } from 'kysely';
import { hashPassword } from '../accounts/prove.ts';
import { PASSWORD } from '../accounts/testing.ts';
import { TestNode } from '../game-servers/testing/node.ts';
import { addNode, addServer, uuidOf } from '../game-servers/testing/servers.ts';
import { dataOf } from '../testing/client.ts';
import { startEnvironment, type TestEnvironment } from '../testing/fixture.ts';

export const ACCOUNT = '/api/portal/account';

/** Control with two nodes, as a node with SFTP sees it. */
export interface SftpWorld extends TestEnvironment {
  /** The node of server 1. */
  readonly node: TestNode;
  login(changes: Partial<SftpLogin>): Promise<ControlReply>;
  /** The rights that a session has now; null: none. */
  check(session: SftpAdmitted['session']): Promise<readonly string[] | null>;
  makePassword(): Promise<{ readonly id: number; readonly password: string }>;
}

/** A server on node-1, one on node-2, and a member of acme with a password of its account. */
export async function startSftpWorld(t: TestContext): Promise<SftpWorld> {
  const env = await startEnvironment(t);
  const nodes = await Promise.all(
    ['node-1', 'node-2'].map(async (name) =>
      new TestNode(env.nodes, name, await addNode(env.db, name)).join(),
    ),
  );
  t.after(() => Promise.all(nodes.map((node) => node.link.close())));
  await addServer(env.db, { number: 1 });
  await addServer(env.db, { number: 2, node: 'node-2' });
  await sql`update people set password_hash = ${await hashPassword(PASSWORD)}`.execute(env.db);
  const [node] = nodes;
  assert.ok(node);
  return {
    ...env,
    node,
    login: (changes) =>
      node.say({
        kind: 'sftp.login',
        email: 'member@acme.example',
        server: uuidOf(1),
        method: 'password',
        secret: 'none',
        proved: true,
        source: '192.0.2.1',
        ...changes,
      }),
    async check(session) {
      const reply = await node.say({ kind: 'sftp.check', sessions: [session] });
      return reply.kind === 'sftp.rights' ? (reply.rights[0] ?? null) : null;
    },
    async makePassword() {
      const json = { name: 'laptop', days: 30, password: PASSWORD };
      const reply = await env.session('member').post(`${ACCOUNT}/sftp-passwords`, json);
      assert.equal(reply.status, 201, reply.text);
      return dataOf(reply);
    },
  };
}

/** Throws for a refusal. */
export function admitted(reply: ControlReply): SftpAdmitted {
  assert.ok(reply.kind === 'sftp.admitted', JSON.stringify(reply));
  return reply;
}
