import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administeredAt, findManagement, parseSockets } from './sockets.ts';

const TCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:08AE 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 101 1 0 100 0 0 10 0
   1: 0A6300C6:08AE 076433C6:C350 01 00000000:00000000 00:00000000 00000000     0        0 102 1 0 20 4 30 10 -1
   2: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 103 1 0 100 0 0 10 0
   3: 0A6300C6:C351 076433C6:0050 01 00000000:00000000 00:00000000 00000000     0        0 104 1 0 20 4 30 10 -1
   4: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 105 1 0 100 0 0 10 0
`;
const TCP6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:08AF 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 106 1 0 100 0 0 10 0
   1: 0000000000000000FFFF00000A6300C6:08AE 0000000000000000FFFF0000076433C6:C352 01 00000000:00000000 00:00000000 00000000     0        0 107 1 0 20 4 30 10 -1
`;
const UDP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
   0: 00000000:CA6C 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 201 2 0 0
   1: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 202 2 0 0
`;
const sockets = [
  ...parseSockets(TCP, 'tcp'),
  ...parseSockets(TCP6, 'tcp'),
  ...parseSockets(UDP, 'udp'),
];
// 103: a user forwards a port; 104: sshd connects for a user; 105: another program.
const administering = new Set(['101', '102', '103', '104', '106', '107']);
const host = { sockets, administering, owned: null, ephemeralFrom: 32_768 };

test('management is where sshd itself listens or is connected, and nothing that it forwards', () => {
  assert.deepEqual(findManagement(host), [
    { protocol: 'tcp', port: 2222 },
    { protocol: 'tcp', port: 2223 },
  ]);
  assert.deepEqual(administeredAt(host), new Set(['198.0.99.10']));
});

test('behind a tunnel, the UDP ports that no process has are management too', () => {
  const found = findManagement({ ...host, owned: new Set([...administering, '202']) });
  assert.deepEqual(found.at(-1), { protocol: 'udp', port: 51_820 });
  assert.equal(found.length, 3);
});
