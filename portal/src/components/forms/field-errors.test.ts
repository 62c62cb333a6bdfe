import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError } from '@portcullis/client/index.ts';
import { errorsByField, fieldsByPointer } from './field-errors.ts';

test('what the service refused stands below the field that it is about, and only below one that is shown', () => {
  const fieldOf = fieldsByPointer(
    { '/rules/0/source_ip': 'source', '/port': 'hidden' },
    new Set(['name', 'limits.rules', 'events', 'source']),
  );
  const details = {
    '/name': 'is taken',
    '/limits/rules': 'is too large',
    '/events/1': 'is an element of a list',
    '/rules/0/source_ip': 'Needs a network.',
    '/port': 'is shown by no field',
    '/': 'is wrong',
  };
  const errors = Object.entries(details).map(([pointer, detail]) => ({ pointer, detail }));
  const failure = { status: 422, code: 'invalid_request', requestId: null, message: 'Wrong.' };
  const error = new ProblemError(failure, { detail: 'Wrong.', errors }, null);
  assert.deepEqual(errorsByField(error, fieldOf), {
    name: 'It is taken.',
    'limits.rules': 'It is too large.',
    source: 'Needs a network.',
  });
  assert.deepEqual(errorsByField(new Error('offline'), fieldOf), {});
});
