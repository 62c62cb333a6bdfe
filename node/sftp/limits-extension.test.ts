import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { long, packetOf, text, word } from './packets.ts';
import { rawChannel, TestDoor } from './testing/door.ts';

const INIT = packetOf(1, word(3));
const VERSION = packetOf(2, word(3), text('limits@openssh.com'), text('1'));
const EXTENDED = 200;
const REPLY = 201;
const STATUS = 101;
const UNSUPPORTED = 8;

/** Sends packets, and returns as many bytes as were expected. */
async function answerTo(t: TestContext, sent: readonly Buffer[], bytes: number): Promise<Buffer> {
  const channel = await rawChannel(await (await new TestDoor(t, { handles: 7 }).start()).connect());
  const answered = Promise.withResolvers<Buffer>();
  let soFar = Buffer.alloc(0);
  channel.on('data', (chunk: Buffer) => {
    soFar = Buffer.concat([soFar, chunk]);
    if (soFar.length >= bytes) answered.resolve(soFar);
  });
  channel.write(Buffer.concat(sent));
  return answered.promise;
}

test('names the limits of requests, by which OpenSSH asks for more than 32 KiB at once', async (t) => {
  const values = [256 * 1024, 255 * 1024, 255 * 1024, 7].map(long);
  const wanted = Buffer.concat([VERSION, packetOf(REPLY, word(5), ...values)]);
  const request = packetOf(EXTENDED, word(5), text('limits@openssh.com'));
  assert.deepEqual(await answerTo(t, [INIT, request], wanted.length), wanted);
});

test('supports no other extension', async (t) => {
  const request = packetOf(EXTENDED, word(6), text('statvfs@openssh.com'), text('/'));
  const answered = await answerTo(t, [INIT, request], VERSION.length + 13);
  const status = answered.subarray(VERSION.length);
  assert.deepEqual(
    [status[4], status.readUInt32BE(5), status.readUInt32BE(9)],
    [STATUS, 6, UNSUPPORTED],
  );
});
