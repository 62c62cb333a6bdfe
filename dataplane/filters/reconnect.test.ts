import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Family, parseAddress } from '@portcullis/core/net/address.ts';
import { bytesOf, type Connection } from '../kernel/netlink/conntrack.ts';
import { compilePolicy } from '../nftables/policy/compile.ts';
import { createFakeKernel } from '../nftables/fake.ts';
import { filteredPolicy } from '../testing/policies.ts';
import { changedPorts } from './changes.ts';
import { reconnectPorts } from './reconnect.ts';

function targets(...policies: readonly ReturnType<typeof filteredPolicy>[]) {
  return new Map(policies.map((policy) => [policy.target, compilePolicy(policy)]));
}

function connection(
  protocol: number,
  from: string,
  sourcePort: number,
  to: string,
  port: number,
): Connection {
  const bytes = (text: string): Buffer => {
    const address = parseAddress(text);
    if (!address.ok) throw new Error(address.reason);
    return bytesOf(address.value);
  };
  const family: Family = to.includes(':') ? 6 : 4;
  const ends = { source: bytes(from), destination: bytes(to) };
  return { family, protocol, ...ends, sourcePort, destinationPort: port } as Connection;
}

test('treats a port as changed when filters are added, replaced or removed', () => {
  const before = targets(
    filteredPolicy('203.0.113.10', ['tcp-syn-proxy', 80], ['udp-stateful', 80]),
    filteredPolicy('203.0.113.11', ['udp-stateful', 1]),
  );
  const after = targets(
    filteredPolicy('203.0.113.10', ['tcp-syn-proxy', 80], ['udp-stateful', 81]),
    filteredPolicy('203.0.113.12', ['udp-stateful', 1]),
  );
  const names = [...before.keys(), ...after.keys()];
  const reported = changedPorts(before, after, new Set(names)).map(
    ({ cidr, protocol, port }) => `${cidr.value & 255n} ${protocol} ${port}`,
  );
  assert.deepEqual(reported.toSorted(), ['10 udp 80', '10 udp 81', '11 udp 1', '12 udp 1']);
  assert.deepEqual(changedPorts(after, after, names), []);
});

test('deletes connections and validated sources of changed ports, and resets TCP clients', async () => {
  const applied: string[] = [];
  const validated = [
    ['10.0.0.1', 5, '203.0.113.10', 27015],
    ['10.0.0.1', 5, '203.0.113.10', 27016],
    ['10.0.0.1', 5, '203.0.113.11', 27015],
  ];
  const kernel = {
    ...createFakeKernel(),
    apply: async (text: string) => void applied.push(...text.split('\n').filter(Boolean)),
    list: async (set: string) =>
      JSON.stringify({
        nftables: [
          {
            set: {
              elem:
                set === 'validated4'
                  ? validated.map((concat) => ({ elem: { val: { concat }, expires: 9 } }))
                  : [],
            },
          },
        ],
      }),
  };
  const connections = [
    connection(6, '10.0.0.1', 1000, '203.0.113.10', 80),
    connection(6, '10.0.0.1', 1000, '203.0.113.10', 81),
    connection(17, '10.0.0.1', 1000, '203.0.113.10', 27015),
    connection(17, '10.0.0.1', 1000, '203.0.113.10', 80),
    connection(6, '203.0.113.10', 80, '10.0.0.1', 80),
    connection(6, '2001:db8::1', 1000, '2001:db8:5::7', 443),
    connection(6, '2001:db8::1', 1000, '2001:db8:6::7', 443),
  ];
  const gone: number[] = [];
  const after = targets(
    filteredPolicy('203.0.113.10', ['tcp-syn-proxy', 80], ['udp-stateful', 27015]),
    filteredPolicy('2001:db8:5::/64', ['tcp-syn-proxy', 443]),
  );
  await reconnectPorts(changedPorts(new Map(), after, after.keys()), kernel, async (_, wanted) => {
    for (const [index, one] of connections.entries()) if (wanted(one)) gone.push(index);
    return gone.length;
  });
  assert.deepEqual(gone, [0, 2, 5]);
  const set = (command: string, name: string, key: string): string =>
    `${command} element inet portcullis ${name} { ${key} }`;
  const old4 = '10.0.0.1 . 1000 . 203.0.113.10 . 80';
  const old6 = '2001:db8::1 . 1000 . 2001:db8:5::7 . 443';
  assert.deepEqual(applied, [
    set('add', 'validated4', '10.0.0.1 . 5 . 203.0.113.10 . 27015'),
    set('delete', 'validated4', '10.0.0.1 . 5 . 203.0.113.10 . 27015'),
    set('add', 'reset_client4', old4),
    set('add', 'reset_server4', old4),
    set('add', 'reset_client6', old6),
    set('add', 'reset_server6', old6),
  ]);
});
