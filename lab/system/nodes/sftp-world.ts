import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { PASSWORD } from '@portcullis/control/accounts/testing.ts';
import { hashPassword } from '@portcullis/control/accounts/prove.ts';
import { listen } from '@portcullis/control/db/listen.ts';
import { addNode, addServer, uuidOf } from '@portcullis/control/game-servers/testing/servers.ts';
import { dataOf } from '@portcullis/control/testing/client.ts';
import { startEnvironment, type TestEnvironment } from '@portcullis/control/testing/fixture.ts';
import { createNode } from '@portcullis/node/create-node.ts';
import { FakeEngine } from '@portcullis/node/engine/fake.ts';
import { EGG } from '@portcullis/node/testing/eggs.ts';
import { sql } from 'kysely';
import { eventually } from '../stack-fixture.ts';

export const ACCOUNT = '/api/portal/account';
export const UUID = uuidOf(1);
const log = { debug() {}, info() {}, warn() {}, error() {} };

export interface SftpWorld extends TestEnvironment {
  readonly port: number;
  /** The folder of the server. */
  readonly folder: string;
  /** A folder of the client. */
  readonly home: string;
  /** Runs commands of OpenSSH's sftp; rejects with what it wrote if one fails. */
  sftp(commands: string, person?: string): Promise<string>;
  /** Begins it, for what goes on meanwhile. */
  begin(): ChildProcess;
  /** The user and the password of the member. */
  readonly user: string;
  readonly password: string;
  /** Runs another client in `home`; its output. Rejects with what it wrote if it fails. */
  run(command: string, args: readonly string[]): Promise<string>;
}

/** Starts a node over the link with one server, built; its port of SFTP, and the folder of the server. */
async function startNode(
  t: TestContext,
  env: TestEnvironment,
  stateDir: string,
): Promise<Pick<SftpWorld, 'port' | 'folder'>> {
  mkdirSync(stateDir);
  const credential = await addNode(env.db, 'node-1');
  await addServer(env.db, { number: 1, built: false });
  const egg = JSON.stringify({ ...EGG, fileDenylist: ['locked.yml'] });
  await sql`update eggs set egg = ${egg}::jsonb`.execute(env.db);
  const listener = listen(env.databaseUrl, ['portcullis_access', 'portcullis_nodes'], (channel) => {
    const access = { kind: 'node.access' } as const;
    const assignments = { kind: 'node.assignments', nodes: ['node-1'] } as const;
    env.nodes.control.notify(channel === 'portcullis_access' ? access : assignments);
  });
  const node = createNode({
    name: 'node-1',
    link: env.nodes.connect({ kind: 'node', name: 'node-1' }, credential),
    engine: new FakeEngine(),
    stateDir,
    accounts: null,
    applyConfigFiles: async () => [],
    sftp: { host: '127.0.0.1', port: 0 },
    log,
  });
  node.start();
  t.after(async () => {
    await node.stop();
    await listener.stop();
  });
  await eventually('the server is built', async () => {
    const { rows } = await sql`select from game_servers where build_state = 'built'`.execute(
      env.db,
    );
    return rows.length > 0;
  });
  return { port: (await node.sftpPort) ?? 0, folder: join(stateDir, 'servers', UUID) };
}

/** Control with its database, a node over the link, and a client that has an SFTP password of a member. */
export async function startSftpWorld(t: TestContext): Promise<SftpWorld> {
  const env = await startEnvironment(t);
  const home = mkdtempSync(join(tmpdir(), 'portcullis-sftp-'));
  const { port, folder } = await startNode(t, env, join(home, 'node'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  await sql`update people set password_hash = ${await hashPassword(PASSWORD)}`.execute(env.db);
  writeFileSync(join(home, 'ask'), '#!/bin/sh\nexec cat "$0.secret"\n', { mode: 0o700 });
  const password = await makePassword(env, home);
  const clientEnv = {
    ...process.env,
    SSH_ASKPASS: join(home, 'ask'),
    SSH_ASKPASS_REQUIRE: 'force',
    SSH_AUTH_SOCK: '',
    HOME: home,
  };
  const begin = (person = 'member', batch = true): ChildProcess => {
    const options = ['StrictHostKeyChecking=no', `UserKnownHostsFile=${join(home, 'known')}`];
    const args = [...options, 'BatchMode=no', 'ConnectTimeout=20'].flatMap((one) => ['-o', one]);
    const user = `${person}@acme.example.${UUID.slice(0, 8)}`;
    return spawn(
      'sftp',
      [...args, '-q', '-P', String(port), ...(batch ? ['-b', '-'] : []), `${user}@127.0.0.1`],
      {
        cwd: home,
        env: clientEnv,
      },
    );
  };
  return {
    ...env,
    port,
    folder,
    home,
    user: `member@acme.example.${UUID.slice(0, 8)}`,
    password,
    begin: () => begin('member', false),
    run: (command, args) => outputOf(spawn(command, args, { cwd: home, env: clientEnv })),
    async sftp(commands, person) {
      const client = begin(person);
      client.stdin?.on('error', () => undefined).end(`${commands}\n`);
      return outputOf(client);
    },
  };
}

async function makePassword(env: TestEnvironment, home: string): Promise<string> {
  const json = { name: 'laptop', days: 30, password: PASSWORD };
  const reply = await env.session('member').post(`${ACCOUNT}/sftp-passwords`, json);
  assert.equal(reply.status, 201, reply.text);
  const { password } = dataOf<{ password: string }>(reply);
  writeFileSync(join(home, 'ask.secret'), password);
  return password;
}

/** All that a client writes. Rejects with it if the client fails. */
async function outputOf(client: ChildProcess): Promise<string> {
  const output = Promise.all([
    text(client.stdout as NodeJS.ReadableStream),
    text(client.stderr as NodeJS.ReadableStream),
  ]);
  const [code] = (await once(client, 'exit')) as [number | null];
  const written = (await output).join('');
  if (code !== 0) throw new Error(`${client.spawnfile} ended with ${code}: ${written}`);
  return written;
}
