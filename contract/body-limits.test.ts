import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TSchema } from 'typebox';
import { bodyLimitOf, bodySizeOf, MOST } from './body-limits.ts';
import { ENDPOINTS } from './endpoints.ts';
import { OPERATOR_ENDPOINTS } from './operator-endpoints.ts';
import { PORTAL_ENDPOINTS } from './portal-endpoints.ts';
import { createValidator } from './validator.ts';
import { X1_ENDPOINTS } from './x1-endpoints.ts';

interface BodyRow {
  readonly operationId: string;
  readonly body?: TSchema;
  readonly bodyExamples?: Readonly<Record<string, unknown>>;
  readonly bodyBytes?: number;
  readonly role?: string;
}
const rows: readonly BodyRow[] = [
  ...ENDPOINTS,
  ...X1_ENDPOINTS,
  ...PORTAL_ENDPOINTS,
  ...OPERATOR_ENDPOINTS,
].filter((row) => 'body' in row);

test('a row that anybody may call reads 4 KiB, and every other one a bounded body', () => {
  assert.ok(rows.length > 30);
  for (const row of rows) {
    const { bytes, values } = bodyLimitOf(row);
    assert.ok(
      bytes <= (row.role === 'anyone' ? 4_096 : (row.bodyBytes ?? MOST.bytes)),
      row.operationId,
    );
    assert.ok(values <= (row.role === 'anyone' ? 500 : MOST.values), row.operationId);
    for (const example of Object.values(row.bodyExamples ?? {})) {
      assert.ok(JSON.stringify(example).length < bytes, row.operationId);
    }
  }
});

test('the size of a schema is no less than that of a body that fits it, in its longest spelling', () => {
  const text = { type: 'string', maxLength: 3 } as const;
  const schema = {
    type: 'object',
    additionalProperties: false,
    properties: { list: { type: 'array', maxItems: 2, items: text }, flag: { type: 'boolean' } },
  } as unknown as TSchema;
  const escaped = String.raw`\ud83d\ude00`.repeat(3);
  const longest = `{"list": ["${escaped}", "${escaped}"], "flag": false}`;
  const size = bodySizeOf(schema);
  assert.ok(createValidator(schema).fits(JSON.parse(longest)));
  assert.ok(longest.length <= size.bytes);
  assert.equal(size.values, 5);
});

test('an explanation reads no more of a value than it can explain', () => {
  const schema = {
    type: 'object',
    additionalProperties: false,
    required: ['name'],
    properties: {
      name: { type: 'string', maxLength: 4 },
      list: { type: 'array', maxItems: 3, items: { type: 'string' } },
    },
  } as unknown as TSchema;
  const { explain } = createValidator(schema);
  const reads = (explained: object, within = (target: object): unknown => target): number => {
    let count = 0;
    const target = new Proxy(explained, {
      get(of, key, receiver): unknown {
        count += 1;
        return Reflect.get(of, key, receiver);
      },
    });
    assert.ok(explain(within(target)).length > 0);
    return count;
  };
  const fields = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`f${at}`, at]));
  assert.equal(explain(fields).length, 20);
  assert.ok(reads(fields) <= 50_100);
  const list = Array.from({ length: 50_000 }, () => 1);
  assert.ok(reads(list, (target) => ({ name: 'ok', list: target })) < 100);
  assert.deepEqual(
    explain({ name: '😀😀😀😀😀' }).map(({ keyword }) => keyword),
    ['maxLength'],
  );
});
