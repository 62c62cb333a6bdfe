import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { FrameReader } from './frames.ts';
import { readJsonLines } from './json-lines.ts';

test('frames give the same bytes for any split', () => {
  const payload = fc.uint8Array({ maxLength: 40 });
  const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 60 });
  fc.assert(
    fc.property(fc.array(payload, { maxLength: 10 }), cuts, (payloads, sizes) => {
      const framed = Buffer.concat(payloads.map(frame));
      const out: Buffer[] = [];
      const reader = new FrameReader((chunk) => out.push(Buffer.from(chunk)));
      let at = 0;
      for (const size of [...sizes, framed.length]) {
        reader.push(framed.subarray(at, at + size));
        at += size;
      }
      assert.deepEqual(Buffer.concat(out), Buffer.concat(payloads));
    }),
  );
});

test('does not buffer a frame with a stated length of 4 GB', () => {
  let seen = 0;
  const reader = new FrameReader((chunk) => (seen += chunk.length));
  reader.push(Buffer.from([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 7, 7]));
  assert.equal(seen, 2);
});

test('lines of JSON are returned one by one for any split of the stream', async () => {
  const text = '{"a":"é"}\n\r\n[1]\n{"b":2}';
  for (let size = 1; size <= text.length; size += 1) {
    const bytes = Buffer.from(text);
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    const values: unknown[] = [];
    for await (const value of readJsonLines(streamOf(chunks))) values.push(value);
    assert.deepEqual(values, [{ a: 'é' }, [1], { b: 2 }]);
  }
});

test('rejects an endless line before it fills the memory', async () => {
  const chunk = Buffer.alloc(300_000, 'x');
  await assert.rejects(async () => {
    for await (const _ of readJsonLines(streamOf(Array.from({ length: 10 }, () => chunk))));
  }, RangeError);
});

function frame(payload: Uint8Array): Buffer {
  const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

async function* streamOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}
