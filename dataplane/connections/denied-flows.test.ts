import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { type Address, parseAddress } from '@portcullis/core/net/address.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { Desired } from '../desired.ts';
import {
  bytesOf,
  type Connection,
  type Removal,
  type RemovalResult,
} from '../kernel/netlink/conntrack.ts';
import { LivePolicies } from '@portcullis/edge/report/live-policies.ts';
import { compilePolicy } from '../nftables/policy/compile.ts';
import { denyAll } from '../testing/policies.ts';
import { opening } from '@portcullis/edge/testing/control.ts';
import { DeniedFlows } from './denied-flows.ts';
import type { Forgotten } from './denied-memory.ts';

const [A, B, PREFIX] = ['203.0.113.10', '203.0.113.20', '203.0.113.0/24'];
const [CLIENT, INSIDE] = ['192.0.2.2', '10.0.0.7'];

function addressOf(text: string): Address {
  const parsed = parseAddress(text);
  assert.ok(parsed.ok);
  return parsed.value;
}

const STATUS = { isAnswered: true, isProxied: false };

function connection(destination: string, port: number, source = CLIENT): Connection {
  const [from, to] = [addressOf(source), addressOf(destination)];
  const there = {
    family: to.family,
    protocol: 17,
    source: bytesOf(from),
    destination: bytesOf(to),
    sourcePort: 4_000,
    destinationPort: port,
  };
  return { ...there, reply: there, icmp: null, secondsLeft: 100, ...STATUS };
}

function desired(sees: 'both' | 'inbound', ...policies: readonly Policy[]): Desired {
  return {
    generation: 1,
    policies: new Map(policies.map((policy) => [policy.target, policy])),
    sourceSets: { version: '', sets: {} },
    settings: {
      name: 'fra1',
      site: 'fra',
      devices: ['wan'],
      management: [],
      sees,
      fragments: 'reassemble',
    },
  };
}

/** The connection table of the kernel and its changes; tests wait for a pass by its number. */
function ground(t: TestContext, everyMs = 1) {
  const kernel: { connections: Connection[]; fails: Error | null; room: number } = {
    connections: [],
    fails: null,
    room: Infinity,
  };
  const warnings: string[] = [];
  const waiting: { readonly passes: number; readonly resolve: () => void }[] = [];
  const kept: Forgotten[] = [];
  let passes = 0;
  const sweep = async ({ mayMatch, wanted, confirm }: Removal): Promise<RemovalResult> => {
    if (kernel.fails !== null) throw kernel.fails;
    const found = kernel.connections.filter(
      (one) => mayMatch(one.family, one.destination) && wanted(one),
    );
    let removed = 0;
    for (const one of found) {
      if (!(await confirm(1))) continue;
      kernel.connections = kernel.connections.filter((other) => other !== one);
      removed += 1;
    }
    return { removed, isComplete: true };
  };
  const log = {
    debug: () => {},
    info: () => {},
    warn: (_: object, text: string) => void warnings.push(text),
    error: () => {},
  } as Log;
  const flows = new DeniedFlows({
    log,
    everyMs,
    sweep: async (how) => {
      try {
        return await sweep(how);
      } finally {
        passes += 1;
        setImmediate(() => {
          for (const one of waiting) if (one.passes <= passes) one.resolve();
        });
      }
    },
    memory: {
      keep: async (some) => {
        if (kept.length + some.length > kernel.room) return false;
        kept.push(...some);
        return true;
      },
    },
    openOwnedConnections: () => ({
      isOwned: ({ source }) => !source.equals(bytesOf(addressOf(INSIDE))),
      close: () => {},
    }),
    localAddresses: () => [],
  });
  t.after(() => flows.stop());
  const live = new LivePolicies();
  let wrote = 0;
  return {
    kernel,
    flows,
    warnings,
    kept,
    get passes() {
      return passes;
    },
    get wrote() {
      return wrote;
    },
    apply: (state: Desired): void => {
      live.set(state, { refused: [] });
      const targets = new Map([...state.policies].map(([name, one]) => [name, compiledOf(one)]));
      flows.applied({ desired: state, targets, live, wrote: () => void wrote++ });
    },
    passed: (wanted: number): Promise<void> =>
      new Promise((resolve) => {
        const alive = setInterval(() => {}, 1_000);
        const done = (): void => {
          clearInterval(alive);
          resolve();
        };
        if (passes >= wanted) done();
        else waiting.push({ passes: wanted, resolve: done });
      }),
    ports: (): (number | null)[] => kernel.connections.map((one) => one.destinationPort),
  };
}

/** One policy is compiled once, as in the agent. */
const compiled = new WeakMap<Policy, ReturnType<typeof compilePolicy>>();
function compiledOf(policy: Policy): ReturnType<typeof compilePolicy> {
  const known = compiled.get(policy) ?? compilePolicy(policy);
  compiled.set(policy, known);
  return known;
}

test('deletes denied connections, and keeps allowed, unprotected and foreign ones', async (t) => {
  const edge = ground(t);
  const [ours, other, inside] = [
    connection(A, 19),
    connection('198.51.100.1', 19),
    connection(A, 20, INSIDE),
  ];
  edge.kernel.connections = [ours, connection(A, 443), other, inside, connection(B, 21)];
  edge.apply(desired('both', openingUdp(A, 443), denyAll(PREFIX)));
  await edge.passed(1);
  assert.deepEqual(edge.ports(), [443, 19, 20]);
  assert.equal(edge.flows.removed, 2);
  assert.deepEqual(
    edge.kept.map(({ flow }) => flow.destinationPort),
    [19, 21],
  );
  assert.equal(edge.wrote, 1);
});

test('handles ten thousand changes in one pass, and queries nothing that did not change', async (t) => {
  const edge = ground(t);
  const [before, still] = [denyAll(A), denyAll(B)];
  edge.apply(desired('both', before, still));
  await edge.passed(1);
  edge.kernel.connections = [connection(A, 1), connection(B, 2)];
  for (let port = 1; port <= 10_000; port++) {
    edge.apply(desired('both', port === 10_000 ? denyAll(A) : before, still));
  }
  await edge.passed(2);
  assert.equal(edge.passes, 2);
  assert.deepEqual(edge.ports(), [2]);
});

test('evaluates connections of a removed target by the containing prefix', async (t) => {
  const edge = ground(t);
  const prefix = denyAll(PREFIX);
  edge.apply(desired('both', openingUdp(A, 443), prefix));
  await edge.passed(1);
  edge.kernel.connections = [connection(A, 443)];
  edge.apply(desired('both', prefix));
  await edge.passed(2);
  assert.deepEqual(edge.ports(), []);
});

test('deletes connections also on an edge that sees one direction, and records none', async (t) => {
  const edge = ground(t);
  edge.kernel.connections = [connection(A, 19)];
  edge.kernel.room = 0;
  edge.apply(desired('inbound', denyAll(A)));
  await edge.passed(1);
  assert.deepEqual([edge.ports(), edge.kept, edge.wrote], [[], [], 0]);
});

test('deletes no connection that cannot be recorded', async (t) => {
  const edge = ground(t);
  edge.kernel.connections = [connection(A, 1), connection(A, 2), connection(A, 3)];
  edge.kernel.room = 2;
  edge.apply(desired('both', denyAll(A)));
  await edge.passed(1);
  assert.deepEqual(edge.ports(), [3]);
  // The next change may find capacity.
  edge.kernel.room = 3;
  edge.apply(desired('both', denyAll(A), denyAll(B)));
  await edge.passed(2);
  assert.deepEqual(edge.ports(), []);
});

test('reports an unresponsive kernel once, and queries it again with the next change', async (t) => {
  const edge = ground(t);
  edge.kernel.connections = [connection(A, 1)];
  edge.kernel.fails = new Error('EPERM');
  edge.apply(desired('both', denyAll(A)));
  await edge.passed(1);
  edge.apply(desired('both', denyAll(A), denyAll(B)));
  await edge.passed(2);
  assert.deepEqual(edge.warnings, ['denied connections are not forgotten']);
  assert.match(edge.flows.problems().join(), /needs root/);
  edge.kernel.fails = null;
  edge.apply(desired('both', denyAll(A)));
  await edge.passed(3);
  assert.deepEqual([edge.ports(), edge.flows.problems()], [[], []]);
});

test('deletes nothing after it was disabled', async (t) => {
  const edge = ground(t);
  edge.kernel.connections = [connection(A, 1)];
  edge.apply(desired('both', denyAll(A)));
  edge.flows.forget();
  edge.apply(desired('both', opening(B, 443)));
  await edge.passed(1);
  assert.deepEqual(edge.ports(), [1]);
});

function openingUdp(target: string, port: number): Policy {
  const allow = { ref: 'rule:1', action: 'allow', protocol: 'udp', port, source: null } as const;
  return denyAll(target, [allow]);
}
