import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import { insertEdge } from '@portcullis/control/fleet/testing.ts';
import { savePublicUrl } from '@portcullis/control/public-url.ts';
import { credentialFile, saveCredential } from './agents/credential-file.ts';
import { CommandSession } from './testing/run.ts';

const session = new CommandSession({ PATH: process.env['PATH'], HOME: tmpdir() });
after(() => session.close());

const FINGERPRINT = 'ab'.repeat(32);
const TOKEN = `pcj_${'x'.repeat(32)}.${FINGERPRINT}`;

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'portcullis-joining-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

async function fleet(t: TestContext) {
  const { db, url } = await testDatabase(t);
  await insertEdge(db, 'fra1');
  const data = folder(t);
  const env = { DATABASE_URL: url };
  const tokens = (...args: readonly string[]) =>
    session.run(['tokens', 'create', ...args, '--data', data], env);
  const link = async () => (await session.run(['portal', 'link', '--data', data], env)).out;
  return { data, tokens, link };
}

test('commands and links for others name the control plane that runs', async (t) => {
  const { data, tokens, link } = await fleet(t);
  savePublicUrl(data, 'https://portcullis.example:21180');
  const { out } = await tokens('edge', '--name', 'fra1');
  assert.match(out, /^portcullis edge join https:\/\/portcullis\.example:21180 pcj_/);
  assert.match(await link(), /^https:\/\/portcullis\.example:21180\/link#/);
  // One that is started on any free port names no place.
  savePublicUrl(data, 'http://127.0.0.1:0');
  assert.match(await link(), /^http:\/\/127\.0\.0\.1:8080\/link#/);
});

test('no command is printed that join refuses', async (t) => {
  const { data, tokens } = await fleet(t);
  const create = (...args: readonly string[]) => tokens('edge', '--name', 'fra1', ...args);
  for (const url of ['http://portcullis.example', 'https://0.0.0.0:8443', 'http://10.0.0.1:8080']) {
    for (const refused of [
      await create('--url', url),
      (savePublicUrl(data, url), await create()),
    ]) {
      assert.deepEqual([refused.code, refused.out], [2, ''], url);
      assert.match(refused.err, /hosts join over https only, and control is at .*--hosts.*--url/);
    }
  }
  const here = await create('--url', 'http://127.0.0.1:8080');
  assert.equal(here.code, 0);
  assert.match(here.err, /http:\/\/127\.0\.0\.1:8080 is this host alone/);
});

test('an edge or a node is added by hand with its token, once', async (t) => {
  const { tokens } = await fleet(t);
  const url = ['--url', 'https://portcullis.example'];
  const unknown = await tokens('node', '--name', 'n1', ...url);
  assert.match(
    unknown.err,
    /the fleet has no node n1: add it to the fleet file, or here with --add/,
  );
  for (const [kind, name] of [
    ['node', 'n1'],
    ['node', 'n1'],
    ['edge', 'e1'],
    ['edge', 'fra1'],
  ] as const) {
    const added = await tokens(kind, '--name', name, '--add', ...url);
    assert.equal(added.code, 0, added.err);
    assert.match(added.out, new RegExp(`^portcullis ${kind} join https://portcullis.example pcj_`));
  }
  const wrong = await tokens('edge', '--name', 'a b', '--add', ...url);
  assert.match(wrong.err, /is not a name of letters/);
  const collector = await tokens('collector', '--name', 'c', '--add', ...url);
  assert.match(collector.err, /a collector names its exporters/);
});

test('a token is taken with the spaces and lines of its paste', async (t) => {
  const data = folder(t);
  const pasted = ` ${TOKEN.slice(0, 50)}\n  ${TOKEN.slice(50)} `;
  const join = (token: string) =>
    session.run([
      'collector',
      'join',
      ' http://127.0.0.1:9 ',
      token,
      '--foreground',
      '--data',
      data,
    ]);
  const { err } = await join(pasted);
  assert.match(err, /control cannot be used at http:\/\/127\.0\.0\.1:9/);
  assert.match((await join('pcj_x')).err, /this is not a token/);
});

test('join again goes on with the credential that is there, as the command of a container', async (t) => {
  const data = folder(t);
  // The role then says what it misses, or runs.
  saveCredential(credentialFile(data, 'collector'), '{"broken": true}');
  const again = (...args: readonly string[]) =>
    session.run(['collector', 'join', 'https://127.0.0.1:9', TOKEN, '--data', data, ...args]);
  const { out, err } = await again('--foreground');
  assert.match(
    out,
    /This host is a collector already, by the credential in .*: the token is not used/,
  );
  assert.doesNotMatch(err, /--replace to replace it|cannot be used/);
  assert.match((await again()).err, /has a credential already.*--replace/);
});
