import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compilePolicy } from '../nftables/policy/compile.ts';
import { createFakeKernel } from '../nftables/fake.ts';
import { DEFAULT_FILTERING } from '../nftables/filters/compile.ts';
import { filteredPolicy } from '../testing/policies.ts';
import { FilterSupervisor, type FilterSupervisorOptions } from './supervisor.ts';
import type { TcpServer } from './tcp-server.ts';

const LOOSE = 'net/netfilter/nf_conntrack_tcp_loose';
const COOKIES = 'net/ipv4/tcp_syncookies';
const NOTHING = new Map();

function targets(...policies: readonly ReturnType<typeof filteredPolicy>[]) {
  return new Map(policies.map((policy) => [policy.target, compilePolicy(policy)]));
}

function supervisorWith(
  settings: Map<string, number>,
  change: Partial<FilterSupervisorOptions> = {},
) {
  const written: string[] = [];
  const supervisor = new FilterSupervisor({
    driver: createFakeKernel(),
    log: { debug() {}, info() {}, warn() {}, error() {} },
    removeConnections: async () => 0,
    sysctls: {
      read: (name) => settings.get(name) ?? null,
      write: (name, value) => {
        written.push(`${name} ${value}`);
        settings.set(name, value);
      },
    },
    probeServer: async () => null,
    ...change,
  });
  return { supervisor, written };
}

test('sets strict TCP tracking in the kernel only while there is a SYN proxy', async (t) => {
  const settings = new Map([
    [LOOSE, 1],
    [COOKIES, 2],
  ]);
  const { supervisor, written } = supervisorWith(settings);
  t.after(() => supervisor.stop());
  await supervisor.applied(NOTHING, targets(filteredPolicy('203.0.113.10', ['udp-stateful', 1])));
  assert.deepEqual(written, []);
  const proxied = targets(
    filteredPolicy('203.0.113.10', ['tcp-syn-proxy', 80], ['udp-stateful', 1]),
  );
  await supervisor.applied(NOTHING, proxied);
  await supervisor.applied(proxied, proxied);
  assert.deepEqual(written, [`${LOOSE} 0`], 'syncookies were good as they were');
  assert.deepEqual(supervisor.problems(), []);
  assert.equal(supervisor.count(), 2);
});

test('reports obstacles in words', async (t) => {
  let failing = true;
  let walks = 0;
  const { supervisor } = supervisorWith(new Map([[LOOSE, 1]]), {
    removeConnections: async () => {
      if (failing) throw new Error('no rights');
      walks += 1;
      return 0;
    },
    sysctls: {
      read: () => null,
      write: () => {
        throw new Error('read-only file system');
      },
    },
  });
  t.after(() => supervisor.stop());
  const newer = filteredPolicy('203.0.113.11', ['quake9' as 'udp-stateful', 1]);
  const both = targets(filteredPolicy('203.0.113.10', ['tcp-syn-proxy', 80]), newer);
  await supervisor.applied(NOTHING, both);
  assert.deepEqual(supervisor.problems(), [
    'filters of type quake9 need a newer edge than this',
    'the SYN proxy needs net.netfilter.nf_conntrack_tcp_loose = 0, and it cannot be set',
    'the SYN proxy needs net.ipv4.tcp_syncookies = 1, and it cannot be set',
    'connections from before a filter stay: no rights',
  ]);
  failing = false;
  await supervisor.applied(both, both);
  assert.equal(walks, 1, 'what failed is tried again');
  assert.equal(supervisor.problems().length, 3);
  await supervisor.applied(both, NOTHING);
  assert.deepEqual(supervisor.problems(), []);
  assert.equal(supervisor.count(), 0);
});

test('queries servers behind the proxy, and reports addresses whose answers change the compilation', async (t) => {
  const server: TcpServer = { mss: 1400, windowScale: 2, timestamps: false, sack: true };
  const { supervisor } = supervisorWith(new Map(), { probeServer: async () => server });
  t.after(() => supervisor.stop());
  const reported = Promise.withResolvers<readonly string[]>();
  supervisor.onServers(reported.resolve);
  const policies = [
    filteredPolicy('203.0.113.10', ['tcp-syn-proxy', 80]),
    filteredPolicy('203.0.113.0/24', ['tcp-syn-proxy', 80]),
  ];
  await supervisor.applied(NOTHING, targets(...policies));
  assert.deepEqual(await reported.promise, ['203.0.113.10']);
  assert.deepEqual(supervisor.serverAt('203.0.113.10', 80), server);
  const compiled = compilePolicy(filteredPolicy('203.0.113.10', ['tcp-syn-proxy', 80]), {
    ...DEFAULT_FILTERING,
    serverAt: (address, port) => supervisor.serverAt(address, port),
  });
  const statements = [...compiled.chains.values()].flatMap((chain) => chain.statements);
  assert.ok(
    statements.includes('ct state invalid,untracked synproxy mss 1400 wscale 2 sack-perm'),
    statements.join('\n'),
  );
});
