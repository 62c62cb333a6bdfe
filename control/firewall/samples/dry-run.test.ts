import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import type { Db, Tx } from '../../db/database.ts';
import { lockEverything } from '../../db/locks.ts';
import { inSnapshot, loadAddressPolicy } from '../../fleet/policies/policies.ts';
import { Problem } from '../../problem.ts';
import { dataOf } from '../../testing/client.ts';
import { ACME, startEnvironment, type TestEnvironment } from '../../testing/fixture.ts';
import { setOwnDefault } from '../defaults/service.ts';
import { portOf } from '../named-ports/index.ts';
import { loadAddress } from '../store.ts';
import { addNotedRules, createFilters } from '../writes/create-delete.ts';
import { planPolicy } from './dry-run.ts';

type DryRunCall = Parameters<typeof planPolicy>[1];
type Body = DryRunCall['body'];

const silent = {
  events: { addressChanged: () => {} },
  loadSourceSets: async () => ({ version: '1', sets: {} }),
};

/** The writes that a dry run stands for, one after the other; each alone takes its locks in their order. */
async function write(tx: Tx, call: DryRunCall): Promise<void> {
  await lockEverything(tx);
  const { rules = [], filters = [], default: action } = call.body;
  if (rules.length > 0) {
    const wanted = rules.map((rule) => ({ ...rule, ...portOf(rule) }));
    await addNotedRules(silent, tx, call, wanted);
  }
  for (const filter of filters) await createFilters(silent, tx, call, filter);
  if (action !== undefined)
    await setOwnDefault(tx, call, { target: call.params.ip, default: action });
}

type Outcome = { readonly policy: Policy } | { readonly refused: readonly [string, string] };

async function outcomeOf(made: Promise<Policy>): Promise<Outcome> {
  try {
    return { policy: withoutIds(await made) };
  } catch (error) {
    if (error instanceof Problem) return { refused: [error.code, error.detail] };
    throw error;
  }
}

class Undone extends Error {
  readonly policy: Policy;

  constructor(policy: Policy) {
    super('the oracle leaves nothing');
    this.policy = policy;
  }
}

async function written(db: Db, call: DryRunCall): Promise<Policy> {
  try {
    return await db.transaction().execute(async (tx): Promise<never> => {
      await write(tx, call);
      throw new Undone(await loadAddressPolicy(tx, call.params.ip));
    });
  } catch (error) {
    if (error instanceof Undone) return error.policy;
    throw error;
  }
}

function planned(db: Db, call: DryRunCall): Promise<Policy> {
  return inSnapshot(db, async (tx) => {
    const state = await loadAddress(tx, 'accepted', call.by, call.params.ip);
    assert.ok(state);
    return (await planPolicy(tx, call, state)).after;
  });
}

/** Ids of objects that were rolled back are burnt, so only their order is compared. */
function withoutIds(policy: Policy): Policy {
  const bare = <T extends { readonly ref: string }>(list: readonly T[]): T[] =>
    list.map((one) => ({ ...one, ref: one.ref.replace(/^(rule|filter):\d+$/, '$1') }));
  return { ...policy, rules: bare(policy.rules), filters: bare(policy.filters) };
}

const port = fc.constantFrom('80', '443', '20000-20002', '80,443', '1-65535', '0');
const rule = fc.record(
  {
    action: fc.constantFrom('allow', 'deny'),
    protocol: fc.constantFrom('tcp', 'udp', 'icmp', 'any'),
    destination_port: fc.option(port),
    source_ip: fc.option(fc.constantFrom('198.51.100.7', '192.0.2.0/24', '2001:db8::1')),
    ref: fc.constantFrom(null, 'mine', 'theirs'),
  },
  { requiredKeys: ['action', 'protocol'] },
);
const filter = fc.record({
  type: fc.constantFrom('source', 'minecraft-java', 'tcp-syn-proxy', 'nothing'),
  port: fc.constantFrom('25565', '27015-27016', '80'),
});
const body = fc.record(
  {
    rules: fc.array(rule, { maxLength: 3 }),
    filters: fc.array(filter, { maxLength: 3 }),
    default: fc.constantFrom('accept', 'deny'),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Body>;

const IPS = ['203.0.113.10', '203.0.113.11', '198.51.100.10', '2001:db8::10'];

/** Rules, filters, a group, defaults of both sides and a limit that is reached. */
async function prepare({ acme, db, session }: TestEnvironment): Promise<void> {
  const own = { action: 'deny', protocol: 'udp', destination_port: '80', ref: 'theirs' };
  dataOf(await acme.post('/api/x1/firewall/ips/203.0.113.10/rules', { rules: [own] }));
  const source = { type: 'source', port: '27015' };
  dataOf(await acme.post('/api/v1/firewall/ips/203.0.113.10/filters', source));
  dataOf(
    await session('admin').post('/api/portal/organisations/acme/groups', {
      name: 'web',
      rules: [{ action: 'allow', protocol: 'tcp', destination_port: '443' }],
      filters: [],
      targets: ['203.0.113.10'],
    }),
  );
  const target = { target: '203.0.113.0/24', default: 'deny' };
  dataOf(await acme.put('/api/x1/firewall/defaults', target));
  await sql`
    insert into default_actions (holding_id, target, action, owner, created_generation)
    select id, '203.0.113.11/32', 'deny', 'fleet', 1 from holdings where cidr = '203.0.113.0/24'`.execute(
    db,
  );
}

test('a dry run comes to the policy, or to the refusal, of the writes that it stands for', async (t) => {
  const environment = await startEnvironment(t);
  const { acme, access, db } = environment;
  await prepare(environment);
  const outcomes = { policy: 0, refused: 0, limited: 0 };
  const check = async (ip: string, wanted: Body): Promise<void> => {
    const { by } = await access.authenticate(acme.authorization ?? undefined, '127.0.0.1');
    const call = {
      by,
      params: { ip },
      body: wanted,
      requestId: 'dry',
      source: null,
    } as never;
    const afterCommit = { afterCommit: () => {} };
    const real = await outcomeOf(written(db, Object.assign(call, afterCommit)));
    assert.deepEqual(await outcomeOf(planned(db, call)), real);
    outcomes['policy' in real ? 'policy' : 'refused'] += 1;
    if ('refused' in real && real.refused[1].includes('configured_addresses')) {
      outcomes.limited += 1;
    }
  };
  const property = fc.asyncProperty(fc.constantFrom(...IPS), body, check);
  await fc.assert(property, { numRuns: 80, seed: 40 });
  await sql`
    update organisations set configured_addresses = 3, rules_per_ip = 3, filters_per_ip = 2
     where id = ${ACME}`.execute(db);
  access.forget();
  await fc.assert(property, { numRuns: 80, seed: 41 });
  assert.ok(outcomes.policy > 20 && outcomes.refused > 20, JSON.stringify(outcomes));
  assert.ok(outcomes.limited > 0, JSON.stringify(outcomes));
});
