import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createClient } from '@portcullis/client/client.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';
import { applyPlans } from './apply.ts';
import { exportFile } from './export.ts';
import { loadBlocked, loadPlans, loadState } from './load.ts';
import type { AddressState } from './plan.ts';
import { parseRulesFile, type WantedAddress } from './rules-file.ts';

/** Each is planned by control several times. */
const FILES = repeated(15);
const ADDRESSES = ['203.0.113.10', '203.0.113.11', '2001:db8::10'] as const;

const port = fc.constantFrom('80', '80,443', '7000-7003', '27015', null);
const rule = fc
  .record({
    action: fc.constantFrom('allow', 'deny'),
    protocol: fc.constantFrom('tcp', 'udp', 'icmp', 'any'),
    port,
    source: fc.constantFrom(null, 'a', 'b'),
    ref: fc.constantFrom(undefined, undefined, null, 'web', 'ssh'),
    expires: fc.constantFrom(undefined, undefined, null, '2099-01-01T00:00:00Z'),
  })
  .map((one) => (['tcp', 'udp'].includes(one.protocol) ? one : { ...one, port: null }));
const filter = fc.record({
  type: fc.constantFrom('udp-stateful', 'source'),
  port: fc.constantFrom('27015', '27016-27018'),
  pps: fc.constantFrom(undefined, null, 400),
});
const address = fc.record({
  default: fc.constantFrom(undefined, 'accept', 'deny'),
  rules: fc.option(fc.array(rule, { maxLength: 6 }), { nil: undefined }),
  filters: fc.option(fc.array(filter, { maxLength: 3 }), { nil: undefined }),
  blocked: fc.option(fc.uniqueArray(fc.constantFrom('a', 'b'), { maxLength: 2 }), {
    nil: undefined,
  }),
});
const file = fc.uniqueArray(fc.tuple(fc.constantFrom(...ADDRESSES), address), {
  selector: ([ip]) => ip,
  minLength: 1,
  maxLength: 3,
});

const SOURCES = {
  a: ['198.51.100.7', '2001:db8:1::7'],
  b: ['198.51.100.0/24', '2001:db8:1::/48'],
} as const;

function sourceOf(ip: string, name: string): string {
  return SOURCES[name as 'a' | 'b'][ip.includes(':') ? 1 : 0] ?? '';
}

/** YAML of the addresses, as YAML, which JSON is. Rules and filters that a file may not have twice are there once. */
function textOf(
  addresses: readonly (readonly [string, Partial<Record<string, unknown>>])[],
): string {
  return JSON.stringify({ addresses: Object.fromEntries(addresses) });
}

type Generated = typeof file extends fc.Arbitrary<infer T> ? T : never;

function once<T>(items: readonly T[], names: (item: T) => readonly string[]): T[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const all = names(item);
    if (all.some((name) => seen.has(name))) return false;
    for (const name of all) seen.add(name);
    return true;
  });
}

const PORTS: Readonly<Record<string, readonly string[]>> = {
  '80,443': ['80', '443'],
  '7000-7003': ['7000', '7001', '7002', '7003'],
  '27016-27018': ['27016', '27017', '27018'],
};

function write(generated: Generated): string {
  return textOf(
    generated.map(([ip, one]) => [
      ip,
      {
        default: one.default,
        blocked: one.blocked?.map((name) => sourceOf(ip, name)),
        rules:
          one.rules &&
          once(
            one.rules.map((of) => ({
              ...of,
              ref: of.port !== null && PORTS[of.port] ? null : of.ref,
            })),
            (of) => [
              ...(PORTS[of.port ?? ''] ?? [of.port]).map(
                (number) => `${of.action} ${of.protocol} ${of.source} ${number}`,
              ),
              ...(of.ref ? [`ref ${of.ref}`] : []),
            ],
          ).map((of) => ({
            action: of.action,
            protocol: of.protocol,
            destination_port: of.port,
            source_ip: of.source === null ? null : sourceOf(ip, of.source),
            ref: of.ref,
            expires_at: of.expires,
          })),
        filters:
          one.filters &&
          once(one.filters, (of) =>
            (PORTS[of.port] ?? [of.port]).map((n) => `${of.type} ${n}`),
          ).map((of) => ({
            type: of.type,
            port: of.port,
            settings: of.pps === undefined ? undefined : { source_pps: of.pps },
          })),
      },
    ]),
  );
}

async function plansOf(client: KeyClient, wanted: readonly WantedAddress[], prune: boolean) {
  return loadPlans(client, wanted, { prune, onRead: () => {} });
}

test('what was applied has nothing left to plan, and neither has what was exported', async (t) => {
  const world = await startEnvironment(t);
  await world.db.updateTable('organisations').set({ requests_per_minute: 1_000_000 }).execute();
  const key = (world.acme.authorization ?? '').replace('Bearer ', '');
  const client = createClient({ baseUrl: world.url, key });
  await fc.assert(
    fc.asyncProperty(file, fc.boolean(), async (generated, prune) => {
      const wanted = parseRulesFile(write(generated), 'random.yaml');
      const plans = await plansOf(client, wanted, prune);
      const work = plans.map((plan, index) => [wanted[index] as WantedAddress, plan] as const);
      const { done } = await applyPlans(client, work, {
        prune,
        isStopped: () => false,
        verify: async () => {},
        onDone: () => {},
      });
      assert.equal(done, plans.length);
      for (const { ip, changes } of await plansOf(client, wanted, prune))
        assert.deepEqual([ip, changes], [ip, []]);

      const blocked = await loadBlocked(client);
      const states = new Map<string, AddressState>();
      for (const ip of ADDRESSES) states.set(ip, await loadState(client, ip, blocked));
      for (const existing of [null, write(generated)]) {
        const exported = parseRulesFile(exportFile(existing, states), 'exported.yaml');
        for (const { ip, changes } of await plansOf(client, exported, true))
          assert.deepEqual([ip, changes], [ip, []]);
      }
    }),
    { numRuns: FILES },
  );
});
