import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, it, type TestContext } from 'node:test';
import { releaseBytes, releaseWritten } from './release-bytes.ts';

describe('bytes that are released', () => {
  it('are gone, unless others may use the memory around them', () => {
    const own = new Uint8Array(64 * 1024);
    releaseBytes(own);
    assert.equal(own.byteLength, 0);
    const whole = new Uint8Array(16).fill(7);
    releaseBytes(whole.subarray(0, 8));
    releaseBytes(whole.subarray(8));
    assert.deepEqual(whole, new Uint8Array(16).fill(7));
    const pooled = Buffer.from('text');
    releaseBytes(pooled);
    assert.equal(pooled.toString(), 'text');
  });
});

describe('parts of a stream that is piped into a message', () => {
  for (const sized of [true, false])
    it(`arrive as they were, also at a reader that stops, ${sized ? 'with' : 'without'} a length`, async (t) => {
      const parts = partsOf();
      const total = parts.reduce((sum, { length }) => sum + length, 0);
      const sent = createHash('sha256');
      for (const part of parts) sent.update(part);
      const response = await answer(t, (message) => {
        if (sized) message.setHeader('content-length', total);
        releaseWritten(message);
        const passed = new Transform({ transform: (part, _encoding, done) => done(null, part) });
        return pipeline(Readable.from(parts), passed, message);
      });
      const received = createHash('sha256');
      let count = 0;
      for await (const chunk of response) {
        received.update(chunk as Buffer);
        count += 1;
        // The sender's buffers fill.
        if (count % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      assert.equal(received.digest('hex'), sent.digest('hex'));
      const freed = parts.filter(({ byteLength }) => byteLength === 0).length;
      assert.ok(freed > parts.length / 4, `${freed} of ${parts.length} were freed`);
    });
});

/** Parts of many sizes, each with memory of its own. */
function partsOf(): Uint8Array[] {
  return Array.from({ length: 400 }, (_, index) => {
    const length = index % 3 === 0 ? 1 + (index % 50) : 1 + ((index * 7_919) % 200_000);
    return new Uint8Array(randomBytes(length));
  });
}

async function answer(
  t: TestContext,
  send: (message: Parameters<Parameters<typeof createServer>[1] & object>[1]) => Promise<void>,
): Promise<IncomingMessage> {
  const server = createServer((_, message) => {
    void send(message).catch(() => message.destroy());
  });
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const [response] = (await once(request({ port, agent: false }).end(), 'response')) as [
    IncomingMessage,
  ];
  return response;
}
