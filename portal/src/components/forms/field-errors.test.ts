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

test('what the service refused of elements of a list stands below the list, if the form names them', () => {
  const placeOf = (pointer: string) => pointer.replace(/\/\d+$/, '').slice(1);
  const fieldOf = fieldsByPointer(placeOf, new Set(['addresses']));
  const errors = [
    { pointer: '/addresses/0', detail: 'is no network' },
    { pointer: '/addresses/2', detail: 'is there twice' },
  ];
  const failure = { status: 422, code: 'invalid_request', requestId: null, message: 'Wrong.' };
  const error = new ProblemError(failure, { detail: 'Wrong.', errors }, null);
  const typed = ['x', '192.0.2.0/24', '192.0.2.0/24'];
  assert.deepEqual(
    errorsByField(error, fieldOf, (pointer) => typed[Number(pointer.split('/').at(-1))] ?? null),
    { addresses: 'x: is no network; 192.0.2.0/24: is there twice' },
  );
});
