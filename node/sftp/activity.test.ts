import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { RefusedByControl } from '@portcullis/agent/request.ts';
import { sourceOf } from '@portcullis/core/net/subscriber.ts';
import { parseRequest } from '@portcullis/link/messages/messages.ts';
import type { SftpLine } from '@portcullis/link/messages/sftp.ts';
import { SftpActivity } from './activity.ts';
import { outcome, TestDoor, UUID } from './testing/door.ts';

const none = (): void => {};
const log = { debug: none, info: none, warn: none, error: none };
const session = { person: 1, server: UUID, credential: 'key:1' };
const doer = { session, source: '192.0.2.1' };
const write = (path: string) => ({ action: 'files.write', path, refused: null }) as const;

async function reported(host: TestDoor, count: number): Promise<readonly string[]> {
  const seen = (): number => host.lines.reduce((sum, { times }) => sum + times, 0);
  while (seen() < count) await delay(20);
  return host.lines.map(({ action, path, to, folder, refused, times }) =>
    [action, path ?? `${folder}/`, to, refused, times > 1 ? `${times} times` : null]
      .filter((part) => part !== null)
      .join(' '),
  );
}

test('reports each kind of change, and what was refused, with the person and its address', async (t) => {
  const host = await new TestDoor(t).start();
  host.files.denylist = ['locked'];
  host.files.put('there');
  const client = await host.connect();
  const sftp = await host.sftp(client);
  const { folder } = host.files;
  await outcome((done) => sftp.mkdir('mods', done));
  await outcome((done) => sftp.writeFile('mods/a', 'x', done));
  await outcome((done) => sftp.readFile('mods/a', done));
  await outcome((done) => sftp.rename('mods/a', 'b', done));
  await outcome((done) => sftp.chmod('b', 0o600, done));
  await outcome((done) => sftp.unlink('b', done));
  await outcome((done) => sftp.rmdir('mods', done));
  await outcome((done) => sftp.unlink('locked', done));
  await outcome((done) => sftp.writeFile('locked', 'x', done));
  assert.ok(!existsSync(join(folder, 'mods')));
  client.end();
  assert.deepEqual(await reported(host, 8), [
    'files.folder mods',
    'files.write mods/a',
    'files.move mods/a b',
    'files.mode b',
    // The file and the folder, both at the top.
    'files.delete / 2 times',
    'files.delete locked denied',
    'files.write locked denied',
  ]);
  const [line] = host.lines;
  assert.deepEqual([line?.session.server, line?.source], [UUID, '127.0.0.1']);
});

test('an upload of many files is a line for each folder', async (t) => {
  const host = await new TestDoor(t).start();
  const client = await host.connect();
  const sftp = await host.sftp(client);
  for (const name of ['mods', 'world']) await outcome((done) => sftp.mkdir(name, done));
  for (let count = 0; count < 60; count += 1) {
    const path = `${count % 2 === 0 ? 'mods' : 'world'}/f${count}`;
    assert.equal(await outcome((done) => sftp.writeFile(path, 'x', done)), 'ok');
  }
  // What is done when a session ends is reported then.
  client.end();
  const lines = await reported(host, 62);
  const counts = lines.map((line) => Number(/(\d+) times/.exec(line)?.[1] ?? 1));
  assert.ok(lines.length <= 9, lines.join('\n'));
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    62,
  );
});

test('reports nothing twice and nothing never, when control is away meanwhile', async (t) => {
  const host = await new TestDoor(t).start();
  host.isAway = true;
  const client = await host.connect();
  const sftp = await host.sftp(client);
  await outcome((done) => sftp.mkdir('a', done));
  client.end();
  while (host.reports < 2) await delay(20);
  assert.deepEqual(host.lines, []);
  host.isAway = false;
  assert.deepEqual(await reported(host, 1), ['files.folder a']);
});

test('reports a line when its time has passed, also while its session goes on', async () => {
  const { promise, resolve } = Promise.withResolvers<readonly SftpLine[]>();
  const send = async (_batch: string, lines: readonly SftpLine[]): Promise<void> => resolve(lines);
  const activity = new SftpActivity({ send, log, lineMs: 500 });
  activity.start();
  activity.record(doer, write('a'));
  assert.equal((await promise)[0]?.path, 'a');
  await activity.stop();
});

test('reports what control takes, whatever else has the wrong form', async () => {
  const sent: SftpLine[] = [];
  const send = async (_batch: string, lines: readonly SftpLine[]): Promise<void> => {
    // As control reads it: what has not the form ends the link of the node.
    assert.ok(parseRequest('node', { kind: 'sftp.activity', batch: 'one', lines }).ok);
    sent.push(...lines);
  };
  const activity = new SftpActivity({ send, log });
  activity.record({ session, source: 'fe80::1%eth0' }, write('a'));
  activity.record({ session: { ...session, credential: 'none' }, source: '192.0.2.1' }, write('b'));
  activity.record(doer, write('c'));
  await activity.stop();
  assert.deepEqual(
    sent.map(({ path }) => path),
    ['c'],
  );
  assert.equal(sourceOf({ remoteAddress: 'fe80::1%eth0' }), 'fe80::1');
  assert.equal(sourceOf({ remoteAddress: '::ffff:192.0.2.1' }), '192.0.2.1');
  assert.equal(sourceOf({ remoteAddress: undefined }), '');
});

test('keeps few lines of a server, however many folders a client changes', async () => {
  const sent: SftpLine[] = [];
  const send = async (_batch: string, lines: readonly SftpLine[]): Promise<void> => {
    sent.push(...lines);
  };
  const activity = new SftpActivity({ send, log });
  for (let count = 0; count < 50_000; count += 1) activity.record(doer, write(`f${count}/a`));
  await activity.stop();
  assert.equal(sent.length, 21);
  assert.equal(
    sent.reduce((sum, { times }) => sum + times, 0),
    50_000,
  );
  const rest = sent.find(({ times }) => times > 1);
  assert.deepEqual([rest?.path, rest?.folder], [null, '']);
});

test('keeps few lines in all, and gives up what an older control does not know', async () => {
  let calls = 0;
  const send = async (): Promise<void> => {
    calls += 1;
    throw new RefusedByControl({ kind: 'refused', code: 'unsupported', detail: 'unknown' });
  };
  const activity = new SftpActivity({ send, log });
  for (let count = 0; count < 10_000; count += 1)
    activity.record({ session, source: `10.0.${count >> 8}.${count & 255}` }, write('a'));
  await activity.stop();
  assert.equal(calls, 20);
});
