import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { production, withoutComments } from './sources.ts';

const ONLY = join('link', 'nats', 'subscription.ts');

test('every subscription to NATS goes through the one function that checks messages and never throws', () => {
  const using = production.filter((file) => withoutComments(file).includes('@nats-io/'));
  assert.ok(using.length >= 4, using.join(', '));
  const subscribing = production.filter(
    (file) => file.startsWith('link') && /\.subscribe\(/.test(withoutComments(file)),
  );
  assert.deepEqual(subscribing, [ONLY]);
  const responding = production.filter(
    (file) =>
      file.startsWith(join('link', 'nats', 'control')) && /\.respond\(/.test(withoutComments(file)),
  );
  assert.deepEqual(responding, [], 'control answers agents by the function that checks the inbox');
});

test('every transport serves agents at their rates', () => {
  const text = withoutComments(join('control', 'links', 'links.ts'));
  const handlers = text.match(/^ +handler: .*$/gm) ?? [];
  assert.equal(handlers.length, 3);
  for (const handler of handlers) assert.match(handler, /handler: rates\.limit\(/);
});
