import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { encodeFrame, FrameReader } from './frame.ts';

describe('FrameReader', () => {
  it('reads the same messages however the stream is split', () => {
    const messages = fc.array(fc.record({ text: fc.string({ unit: 'binary' }) }), { maxLength: 8 });
    fc.assert(
      fc.property(messages, fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (sent, sizes) => {
        const stream = Buffer.concat(sent.map((one) => encodeFrame(one)));
        const reader = new FrameReader();
        const found: unknown[] = [];
        for (let at = 0; at < stream.length; ) {
          const size = sizes.next().value as number;
          reader.push(stream.subarray(at, at + size));
          at += size;
          for (let next = reader.next(); next !== null; next = reader.next()) {
            assert.ok(next.ok);
            found.push(next.value);
          }
        }
        assert.deepEqual(found, JSON.parse(JSON.stringify(sent)));
      }),
    );
  });

  it('rejects a length above the limit before it buffers the message', () => {
    const reader = new FrameReader(8);
    reader.push(Buffer.from([0, 0, 0, 9]));
    assert.deepEqual(reader.next(), { ok: false, reason: 'a frame of 9 bytes' });
  });
});
