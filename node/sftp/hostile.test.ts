import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { HOSTILE_CASES } from '../files/testing/hostile-cases.ts';
import { lengthed, long, packetOf as packet, text, word } from './packets.ts';
import { opened, outcome, rawChannel, TestDoor } from './testing/door.ts';
import { SftpTestedDoor } from './testing/sftp-door.ts';

const isRoot = process.getuid?.() === 0;
const INIT = packet(1, word(3));
const OPEN = 3;
const READ = 5;
const MKDIR = 14;

describe('the cases of every door, by SFTP', () => {
  for (const { name, needsRoot = false, run } of HOSTILE_CASES) {
    it(name, { skip: needsRoot && !isRoot && 'needs root' }, async (t) =>
      run(await SftpTestedDoor.open(new TestDoor(t))),
    );
  }
});

describe('a hostile client', () => {
  it('has so many files open, whatever it asks for at once, and goes on after it', async (t) => {
    const host = await new TestDoor(t).start();
    host.files.put('a', 'content');
    const sftp = await host.sftp();
    const all = await Promise.all(Array.from({ length: 1_000 }, () => opened(sftp, 'a', 'r')));
    const handles = all.filter((one) => Buffer.isBuffer(one));
    assert.equal(handles.length, 64);
    for (const one of all) assert.ok(Buffer.isBuffer(one) || /Too many/.test(one));
    for (const handle of handles) await outcome((done) => sftp.close(handle, done));
    assert.ok(Buffer.isBuffer(await opened(sftp, 'a', 'r')));
  });

  it('leaves no file open in the agent when it goes without closing any', async (t) => {
    const host = await new TestDoor(t).start();
    host.files.put('a', 'content');
    const { folder } = host.files;
    const client = await host.connect();
    const sftp = await host.sftp(client);
    for (let count = 0; count < 20; count += 1) {
      await opened(sftp, 'a', 'r');
      await opened(sftp, `new-${count}`, 'w');
      await outcome((done) => sftp.opendir('', done));
    }
    assert.ok(openIn(folder) >= 40);
    client.destroy();
    while (openIn(folder) > 0) await delay(20);
  });

  it('that sends more requests than it may, or none that are SFTP, ends alone', async (t) => {
    const host = await new TestDoor(t).start();
    host.files.put('a', 'content');
    const other = await host.sftp();
    const floods: readonly Buffer[] = [
      // Requests that wait, far more than 1,024.
      Buffer.concat(
        Array.from({ length: 20_000 }, (_, id) =>
          packet(OPEN, word(id), text('a'), word(1), word(0)),
        ),
      ),
      // Packets of no length, of one that is negative to arithmetic, and of more than there may be.
      word(0),
      word(0xff_ff_ff_ff),
      word(0x80_00_00_01),
      word(300 * 1024),
      // A type that is not there, and requests cut in the middle.
      packet(99, word(1)),
      packet(OPEN, word(1)),
      packet(READ, word(1), word(0xff_ff_ff_f0)),
    ];
    for (const flood of floods) {
      const client = await host.connect();
      const closed = once(client, 'close');
      const channel = await rawChannel(client);
      channel.write(Buffer.concat([INIT, flood]));
      // One that answers such a request goes on; it must not harm others.
      await Promise.race([closed, delay(1_000)]);
      assert.equal(await outcome((done) => other.stat('a', done)), 'ok');
      client.destroy();
    }
  });

  it('gets no memory of the node by answers that it does not take', async (t) => {
    const host = await new TestDoor(t).start();
    const length = 255 * 1024;
    host.files.put('large', Buffer.alloc(64 * 1024 * 1024));
    const other = await host.sftp();
    const channel = await rawChannel(await host.connect());
    const before = host.processMib();
    const open = packet(OPEN, word(0), text('large'), word(1), word(0));
    const reads = Array.from({ length: 1_000 }, (_, id) =>
      packet(READ, word(id + 1), lengthed(word(1)), long((id % 200) * length), word(length)),
    );
    channel.pause();
    channel.write(Buffer.concat([INIT, open]));
    // Its first answers, the version and the handle, are there.
    while (channel.readableLength < 30) await delay(20);
    channel.write(Buffer.concat(reads));
    const most = [0];
    // Its window is full.
    while (channel.readableLength < 2 * 1024 * 1024) await delay(20);
    for (let count = 0; count < 50; count += 1) {
      assert.equal(await outcome((done) => other.stat('large', done)), 'ok');
      most.push(host.processMib() - before);
    }
    assert.ok(Math.max(...most) < 64, `${Math.max(...most)} MiB`);
  });

  it('gets no memory of the node by folders that it leaves open', async (t) => {
    const host = await new TestDoor(t, { entries: 100 }).start();
    for (let count = 0; count < 30; count += 1) host.files.put(`f${count}`);
    const sftp = await host.sftp();
    const open = (): Promise<string> => outcome((done) => sftp.opendir('', done));
    let made = 0;
    while ((await open()) === 'ok') made += 1;
    assert.equal(made, 3);
  });

  it('writes and reads nowhere but in the file that it opened, at places that there are', async (t) => {
    const host = await new TestDoor(t).start();
    host.files.put('a', 'content');
    const sftp = await host.sftp();
    const handle = (await opened(sftp, 'b', 'w')) as Buffer;
    const bytes = Buffer.from('x');
    for (const at of [2 ** 50, Number.MAX_SAFE_INTEGER])
      assert.notEqual(await outcome((done) => sftp.write(handle, bytes, 0, 1, at, done)), 'ok');
    for (const guess of [0, 2, 99, 2 ** 32 - 1].map(word)) {
      assert.notEqual(await outcome((done) => sftp.write(guess, bytes, 0, 1, 0, done)), 'ok');
      assert.notEqual(await outcome((done) => sftp.close(guess, done)), 'ok');
    }
    for (const odd of [Buffer.alloc(0), Buffer.alloc(3), Buffer.alloc(200, 1)])
      assert.notEqual(await outcome((done) => sftp.close(odd, done)), 'ok');
    assert.equal(readFileSync(join(host.files.folder, 'a'), 'utf8'), 'content');
  });

  it('writes no denied file into a folder that it moves meanwhile', async (t) => {
    const host = await new TestDoor(t).start();
    const { files } = host;
    files.denylist = ['/live/server.cfg'];
    files.put('mine/other');
    const sftp = await host.sftp();
    const handle = (await opened(sftp, 'mine/server.cfg', 'w')) as Buffer;
    assert.equal(await outcome((done) => sftp.rename('mine', 'live', done)), 'ok');
    assert.notEqual(await outcome((done) => sftp.close(handle, done)), 'ok');
    assert.deepEqual(await files.names('live'), ['other']);
  });

  it('opens so many channels, also when it leaves them unused', async (t) => {
    const host = await new TestDoor(t).start();
    const client = await host.connect();
    for (let count = 0; count < 10; count += 1) await host.sftp(client);
    await assert.rejects(host.sftp(client), /open failure/i);
    const another = await host.connect();
    assert.equal(await outcome((done) => another.exec('x', (error) => done(error))), 'ok');
  });

  it('cannot keep people out by connections that never log in', async (t) => {
    const host = await new TestDoor(t, { waiting: 8, perSource: 20, loginMs: 60_000 }).start();
    const flood = Array.from({ length: 12 }, () => host.dial('127.0.0.2'));
    const closed = flood.map((socket) => once(socket, 'close'));
    await Promise.all(flood.map((socket) => once(socket, 'connect')));
    // The oldest of them make room.
    await Promise.race(closed);
    for (let count = 0; count < 5; count += 1) await host.connect();
  });

  it('has so many connections as a person, and to one server, from however many sources', async (t) => {
    for (const limits of [{ perPerson: 2 }, { perServer: 2 }]) {
      const host = await new TestDoor(t, limits).start();
      const first = await host.connect();
      await host.connect();
      await assert.rejects(host.connect(), /authentication methods failed/);
      first.destroy();
      for (let tries = 1; ; tries += 1) {
        assert.ok(tries < 500, 'no connection became free');
        const isIn = await host.connect().then(
          () => true,
          () => false,
        );
        if (isIn) break;
        await delay(20);
      }
    }
  });

  it('makes no name of bytes that are no UTF-8, which would be one with others', async (t) => {
    const host = await new TestDoor(t).start();
    const client = await host.connect();
    const channel = await rawChannel(client);
    const replies: Buffer[] = [];
    channel.on('data', (chunk: Buffer) => replies.push(chunk));
    const odd = Buffer.from([0x61, 0xff]);
    channel.write(Buffer.concat([INIT, packet(MKDIR, word(1), lengthed(odd), word(0))]));
    while (!/not UTF-8/.test(Buffer.concat(replies).toString('latin1'))) await delay(20);
    assert.deepEqual(readdirSync(host.files.folder), []);
  });
});

describe('the process that speaks the protocol', () => {
  it('is begun again when it is killed, and the agent keeps nothing of its sessions', async (t) => {
    const host = await new TestDoor(t).start();
    host.files.put('a', 'content');
    const client = await host.connect();
    const sftp = await host.sftp(client);
    await opened(sftp, 'a', 'r');
    const closed = once(client, 'close');
    host.killProcess();
    await closed;
    while (openIn(host.files.folder) > 0) await delay(20);
    await host.listensAgain();
    assert.ok(Buffer.isBuffer(await opened(await host.sftp(), 'a', 'r')));
  });
});

/** Descriptors of this process that are files in a folder. */
function openIn(folder: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path === folder || path.startsWith(`${folder}/`);
    } catch {
      return false;
    }
  }).length;
}
