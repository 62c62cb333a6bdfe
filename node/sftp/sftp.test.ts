import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FILE_RIGHTS } from '@portcullis/core/access/server-rights.ts';
import type ssh2 from 'ssh2';
import { TestFiles } from '../files/testing/files.ts';
import type { SftpEntry } from './messages.ts';
import { type Listing, Listings, SftpSession } from './session.ts';
import { opened, outcome, TestDoor, UUID } from './testing/door.ts';

const WRITE = 0x02;

test('asks control by the person, the server and the source, and refuses what control does', async (t) => {
  const host = await new TestDoor(t).start();
  await host.connect();
  assert.deepEqual(host.logins, [
    {
      email: 'a@b.example',
      server: UUID,
      method: 'password',
      secret: 'right',
      proved: true,
      source: '127.0.0.1',
    },
  ]);
  await assert.rejects(host.connect('wrong'), /authentication methods failed/);
});

test('ends connections that do not log in, and takes so many of a source and in all', async (t) => {
  const host = await new TestDoor(t, { loginMs: 500, perSource: 3 }).start();
  const begunMs = performance.now();
  const waiting = [host.dial(), host.dial(), host.dial()];
  const closed = waiting.map((socket) => once(socket, 'close'));
  await Promise.all(waiting.map((socket) => once(socket, 'connect')));
  await once(host.dial(), 'close');
  await Promise.all(closed);
  assert.ok(performance.now() - begunMs >= 450);
  await once(host.dial(), 'data');
});

test('does nothing but SFTP: to a command and a shell it says so, and it forwards nothing', async (t) => {
  const client = await (await new TestDoor(t).start()).connect();
  for (const begin of [
    (done: ssh2.ClientCallback) => client.exec('scp -t mods', done),
    (done: ssh2.ClientCallback) => client.shell(false, done),
  ]) {
    const answer = await new Promise((resolve, reject) =>
      begin((error, channel) => {
        if (error) return reject(error);
        const said: string[] = [];
        channel.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()));
        channel.resume().once('exit', (code: number) => {
          channel.once('close', () => resolve([code, said.join('')]));
        });
      }),
    );
    assert.deepEqual(answer, [
      1,
      'This server speaks SFTP only, without commands. Use scp without -O.\n',
    ]);
  }
  assert.notEqual(
    await outcome((done) => client.forwardOut('127.0.0.1', 1, '127.0.0.1', 22, done)),
    'ok',
  );
  assert.notEqual(await outcome((done) => client.forwardIn('127.0.0.1', 0, done)), 'ok');
});

test('opens so many files at once, and takes each back', async (t) => {
  const host = await new TestDoor(t, { handles: 2 }).start();
  host.files.put('a', 'content');
  const sftp = await host.sftp();
  const first = await opened(sftp, 'a', 'r');
  assert.ok(Buffer.isBuffer(first) && Buffer.isBuffer(await opened(sftp, 'a', 'r')));
  assert.match(String(await opened(sftp, 'a', 'r')), /Too many/);
  assert.equal(await outcome((done) => sftp.close(first, done)), 'ok');
  assert.ok(Buffer.isBuffer(await opened(sftp, 'a', 'r')));
  // One that was never opened gives no room.
  assert.notEqual(await outcome((done) => sftp.close(Buffer.from([0, 0, 0, 99]), done)), 'ok');
  assert.match(String(await opened(sftp, 'a', 'r')), /Too many/);
});

test('an upload has no half under its name: the old file stays until its end, and without a right for ever', async (t) => {
  const host = await new TestDoor(t).start();
  host.files.put('old', 'before');
  const read = (name: string): string => readFileSync(join(host.files.folder, name), 'utf8');
  const sftp = await host.sftp();
  const handle = (await opened(sftp, 'old', 'w')) as Buffer;
  assert.equal(
    await outcome((done) => sftp.write(handle, Buffer.from('after!'), 0, 6, 0, done)),
    'ok',
  );
  assert.equal(read('old'), 'before');
  assert.equal(await outcome((done) => sftp.close(handle, done)), 'ok');
  assert.equal(read('old'), 'after!');
  const again = (await opened(sftp, 'old', 'w')) as Buffer;
  host.rights = FILE_RIGHTS.filter((right) => right !== 'file.update');
  await host.door.check();
  assert.notEqual(
    await outcome((done) => sftp.write(again, Buffer.from('x'), 0, 1, 0, done)),
    'ok',
  );
  assert.equal(read('old'), 'after!');
  host.rights = null;
  const made = (await opened(sftp, 'new', 'w')) as Buffer;
  const ended = once(sftp, 'close');
  await host.door.check();
  await ended;
  assert.ok(Buffer.isBuffer(made) && !existsSync(join(host.files.folder, 'new')));
});

test('a file that opens slowly holds the rights of no other session', async (t) => {
  const host = await new TestDoor(t).start();
  for (const path of ['a', 'b']) host.files.put(path, 'content');
  const disk = Promise.withResolvers<void>();
  host.files.slowDisk = disk.promise;
  const slow = await host.sftp();
  const other = await host.sftp();
  const written = (await opened(other, 'b', 'w')) as Buffer;
  const listed = await new Promise<Buffer>((resolve) =>
    other.opendir('', (_error, handle) => resolve(handle)),
  );
  // It goes on with what the file holds, which takes the quota.
  const opening = opened(slow, 'a', 'a');
  await host.files.measures;
  host.rights = ['file.sftp'];
  await host.door.check();
  const write = (done: (error?: Error | null) => void): void =>
    other.write(written, Buffer.from('x'), 0, 1, 0, done);
  assert.notEqual(await outcome(write), 'ok');
  assert.notEqual(await outcome((done) => other.readdir(listed, done)), 'ok');
  disk.resolve();
  assert.match(String(await opening), /has ended|ended while/);
  assert.equal(readFileSync(join(host.files.folder, 'a'), 'utf8'), 'content');
});

test('replaces no file that a game made meanwhile, without the right or against its word', async (t) => {
  const host = await new TestDoor(t).start();
  const game = (): void => host.files.put('new', 'by the game');
  for (const [rights, flags] of [
    [FILE_RIGHTS.filter((right) => right !== 'file.update'), 'w'],
    [FILE_RIGHTS, 'wx'],
  ] as const) {
    host.rights = rights;
    await host.door.check();
    const sftp = await host.sftp();
    const handle = (await opened(sftp, 'new', flags)) as Buffer;
    const write = (done: (error?: Error | null) => void): void =>
      sftp.write(handle, Buffer.from('x'), 0, 1, 0, done);
    assert.equal(await outcome(write), 'ok');
    game();
    assert.notEqual(await outcome((done) => sftp.close(handle, done)), 'ok');
    assert.equal(readFileSync(join(host.files.folder, 'new'), 'utf8'), 'by the game');
    rmSync(join(host.files.folder, 'new'));
  }
});

test('is begun again when its process could not be started', async (t) => {
  const { execPath } = process;
  // The first fails at once, the second after a moment.
  for (const path of ['no\0path', '/no/path']) {
    const host = new TestDoor(t);
    try {
      process.execPath = path;
      host.door.start();
    } finally {
      process.execPath = execPath;
    }
    assert.ok((await host.door.listening) > 0);
  }
});

test('gives a client that asks for more than it takes all that it asked for', async (t) => {
  const host = await new TestDoor(t).start();
  const large = Buffer.alloc(40 * 1024 * 1024, 'portcullis');
  host.files.put('large', large);
  const sftp = await host.sftp();
  const copy = join(host.files.outside, 'copy');
  // Eight times the window of the channel.
  const options = { concurrency: 512, chunkSize: 32_768 };
  assert.equal(await outcome((done) => sftp.fastGet('large', copy, options, done)), 'ok');
  assert.ok(readFileSync(copy).equals(large));
});

test('speaks its ciphers in both directions, also with new keys', async (t) => {
  const host = await new TestDoor(t).start();
  const bytes = randomBytes(300_000);
  const algorithms: readonly ssh2.Algorithms[] = [
    { cipher: ['aes128-gcm@openssh.com'] },
    { cipher: ['aes256-gcm@openssh.com'] },
    { cipher: ['aes128-ctr'], hmac: ['hmac-sha2-256-etm@openssh.com'] },
    { cipher: ['aes256-ctr'], hmac: ['hmac-sha2-512'] },
  ];
  for (const one of algorithms) {
    const client = await host.connect('right', one);
    const sftp = await host.sftp(client);
    for (const name of ['a', 'b']) {
      assert.equal(await outcome((done) => sftp.writeFile(name, bytes, done)), 'ok');
      const read = await new Promise((resolve, reject) =>
        sftp.readFile(name, (error, content) => (error ? reject(error) : resolve(content))),
      );
      assert.ok(bytes.equals(read as Buffer));
      const hasNewKeys = once(client, 'handshake');
      (client as Rekeyed)._protocol.rekey();
      await hasNewKeys;
    }
    client.end();
  }
});

/** The library lets only servers ask for new keys. */
type Rekeyed = ssh2.Client & { readonly _protocol: { rekey(): void } };

test('what arrived of a new file stays when its client is lost, so that it can go on', async (t) => {
  const host = await new TestDoor(t).start();
  const client = await host.connect();
  const sftp = await new Promise<ssh2.SFTPWrapper>((resolve) =>
    client.sftp((_error, one) => resolve(one)),
  );
  const handle = (await opened(sftp, 'new', 'w')) as Buffer;
  assert.equal(
    await outcome((done) => sftp.write(handle, Buffer.from('half'), 0, 4, 0, done)),
    'ok',
  );
  client.destroy();
  const path = join(host.files.folder, 'new');
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(readFileSync(path, 'utf8'), 'half');
});

test('files that are opened to go on hold no place of the operations while they are copied', async (t) => {
  const files = new TestFiles(t);
  const names = Array.from({ length: 12 }, (_, index) => `log-${index}`);
  for (const name of names) files.put(name, 'old ');
  const [measures, measured] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // As on a slow disk: copies wait for the quota.
  files.beforeMeasure = () => {
    measures.resolve();
    return measured.promise;
  };
  const ref = { person: 1, server: UUID, credential: 'password:1' };
  const rights = ['file.read', 'file.update'] as const;
  const session = new SftpSession(
    files.service,
    { session: ref, rights: [...rights] },
    {
      record: () => undefined,
      listings: new Listings(1_000),
    },
  );
  const opens = names.map((path) => session.perform({ kind: 'open', path, flags: WRITE }));
  await measures.promise;
  assert.deepEqual(await files.names(), [...names].toSorted());
  measured.resolve();
  for (const result of await Promise.all(opens)) {
    assert.ok(result.kind === 'handle', JSON.stringify(result));
    const { handle } = result;
    const data = Buffer.from('new');
    const wrote = await session.perform({ kind: 'write', handle, offset: 4, data });
    assert.equal(wrote.kind, 'done');
    assert.equal((await session.perform({ kind: 'close', handle })).kind, 'done');
  }
  for (const name of names) {
    assert.equal(readFileSync(join(files.folder, name), 'utf8'), 'old new');
  }
  await session.close('lost');
});

test('deletes for good what the bin of a full server cannot keep', async (t) => {
  const host = await new TestDoor(t).start();
  const { files } = host;
  const sftp = await host.sftp();
  for (const path of ['top', 'folder/inner']) files.put(path);
  files.limitEntries = 1;
  const full = { bytes: 0, entries: 1_000_000, complete: true };
  // No measurement takes its place.
  files.beforeMeasure = () => Promise.reject(new Error('a slow disk'));
  files.service.measured(UUID, full, performance.now());
  for (const path of ['top', 'folder/inner'])
    assert.equal(await outcome((done) => sftp.unlink(path, done)), 'ok');
  assert.deepEqual(await files.names('folder'), []);
  const { items } = await files.ok('bin', { kind: 'listBin' });
  assert.deepEqual(
    items.map(({ path }) => path),
    ['top'],
  );
});

const ENTRY: SftpEntry = { name: 'a', type: 'file', size: 0, modifiedAtMs: 0, mode: 0o644 };

function listing(server: string, length: number): Listing {
  return { server, entries: Array.from({ length }, () => ENTRY), at: 0 };
}

test('the people of one server who leave many folders open keep out nobody of another', () => {
  const listings = new Listings(10);
  const large = [listing('a', 4), listing('a', 4), listing('a', 2)];
  for (const one of large) listings.take(one);
  assert.throws(() => listings.take(listing('a', 1)), /Too many large folders/);
  const other = listing('b', 3);
  listings.take(other);
  // The oldest of the largest alone.
  assert.deepEqual(
    large.map(({ entries }) => entries?.length),
    [undefined, 4, 2],
  );
  const more = listing('b', 4);
  assert.throws(() => listings.take(more), /Too many large folders/);
  listings.release(other);
  listings.take(more);
  assert.equal(more.entries?.length, 4);
});
