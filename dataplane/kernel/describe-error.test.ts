import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeKernelError } from './describe-error.ts';
import { SystemError } from './native.ts';

test('a denial says what is missing, and any other error what it was', () => {
  const denied = [
    new SystemError('setsockopt', 1),
    new Error('cannot count', { cause: new SystemError('bpf', 13) }),
    new Error('cache initialization failed: Operation not permitted'),
  ];
  for (const error of denied) {
    assert.equal(describeKernelError(error), 'this needs root, or CAP_NET_ADMIN and CAP_BPF');
  }
  assert.equal(describeKernelError(new Error('no memory')), 'no memory');
});
