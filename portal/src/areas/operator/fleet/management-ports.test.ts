import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseManagement, showManagement } from './management-ports.ts';

test('management ports are read as they are shown', () => {
  const ports = [
    { protocol: 'tcp', port: 22 },
    { protocol: 'udp', port: 51_820 },
  ] as const;
  assert.equal(showManagement(ports), 'tcp 22, udp 51820');
  assert.deepEqual(parseManagement('tcp 22,  UDP 51820,'), ports);
  assert.deepEqual(parseManagement('2222'), [{ protocol: 'tcp', port: 2_222 }]);
});
