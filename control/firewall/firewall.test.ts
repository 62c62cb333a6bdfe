import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWorld } from '../http/testing/fixture.ts';

const IP = '/api/v1/firewall/ips/203.0.113.10';

test('a rule that was created is read back, and is gone when it was deleted', async (t) => {
  const { acme } = await startWorld(t);
  const created = await acme.post(`${IP}/rules`, {
    action: 'allow',
    protocol: 'tcp',
    destination_port: '443, 80',
    source_ip: '198.51.100.0/24',
  });
  assert.equal(created.status, 201);
  assert.deepEqual(created.body, {
    data: { ids: [1, 2], created: 2, requested: 2 },
    message:
      '2 rules were accepted. Changes take 3-5 minutes to propagate globally. At the moment no edge enforces rules for this address, so packets to it are not judged until one does.',
  });
  const read = await acme.get(IP);
  console.log(read.text, [...read.headers]);
  const deleted = await acme.delete(`${IP}/rules`, { ids: [1, 2, 99] });
  console.log(deleted.text);
});
