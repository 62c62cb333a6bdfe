import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import { API_PORT, ORGANISATION } from '../../stack/stack.ts';
import { EDGE_DEVICE } from '../../stack/internet.ts';
import { eventually, startStackFixture, type StackFixture, whyNot } from '../stack-fixture.ts';

/** Once each victim. */
const ROUNDS = repeated(3);
const RECOVERY_MS = 120_000;
const WRITES_BEFORE_KILL = 6;
const ADDRESSES = Array.from({ length: 20 }, (_, index) => `203.0.113.${index + 10}`);

const FLEET = `organisations:
  ${ORGANISATION}:
    name: Acme
    flags: [firewall_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000, rules_per_ip: 10000 }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }
    keys:
      - { name: lab, abilities: [firewall.read, firewall.manage], secret: "\${LAB_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}] }
`;

interface Acknowledged {
  readonly ip: string;
  readonly id: number;
}
interface Created {
  readonly data: { readonly ids: readonly number[] };
}
interface Accepted {
  readonly data: { readonly rules: readonly { readonly id: number }[] };
}

let fixture: StackFixture;

describe('kill -9 in a loop of writes', { skip: whyNot() }, () => {
  before(async () => {
    fixture = await startStackFixture('faults', { fleet: FLEET });
  });
  after(() => fixture.stop());

  it(`loses no acknowledged write and no generation in ${ROUNDS} rounds, and comes up by itself`, async () => {
    const acknowledged: Acknowledged[] = [];
    let newest = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const victim = (['control', 'postgres', 'everything'] as const)[round % 3] ?? 'control';
      const writing = writeUntilFailure(round, acknowledged);
      await enoughWrites(acknowledged, acknowledged.length + WRITES_BEFORE_KILL);
      await kill(victim);
      await writing.stop();
      const generation = await recover();
      assert.ok(
        generation >= newest,
        `generation ${generation} after ${newest}, killed: ${victim}`,
      );
      newest = Math.max(newest, generation, writing.newest());
      assert.deepEqual(
        await missingFrom(acknowledged),
        [],
        `lost in round ${round}, killed: ${victim}`,
      );
    }
    assert.ok(acknowledged.length >= ROUNDS * WRITES_BEFORE_KILL);
    await fixture.stack.api.liveAt(ADDRESSES[0] ?? '', newest);
  });
});

/** One writer; an acknowledged write is in `acknowledged` before the next write. */
function writeUntilFailure(
  round: number,
  acknowledged: Acknowledged[],
): { stop(): Promise<void>; newest(): number } {
  let stopped = false;
  let newest = 0;
  const writing = (async (): Promise<void> => {
    for (let port = 1; !stopped; port += 1) {
      const ip = ADDRESSES[port % ADDRESSES.length] ?? '';
      const rule = {
        action: 'deny',
        protocol: 'udp',
        destination_port: String(1_000 + port),
        source_ip: `192.0.2.${round}`,
      };
      const answer = await fixture.stack.api
        .call<Created>('POST', `/api/v1/firewall/ips/${ip}/rules`, rule)
        .catch(() => null);
      if (answer?.status !== 201) continue;
      for (const id of answer.body.data.ids) acknowledged.push({ ip, id });
      newest = Number(answer.headers['portcullis-generation']);
    }
  })();
  return {
    newest: () => newest,
    stop: () => {
      stopped = true;
      return writing;
    },
  };
}

async function enoughWrites(acknowledged: readonly Acknowledged[], wanted: number): Promise<void> {
  const deadline = performance.now() + RECOVERY_MS;
  while (acknowledged.length < wanted) {
    assert.ok(performance.now() < deadline, 'writes are not answered any more');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function kill(victim: 'control' | 'postgres' | 'everything'): Promise<void> {
  const { stack } = fixture;
  if (victim === 'everything') {
    await stack.killAll();
    await stack.start('--enforce');
    return;
  }
  process.kill(
    victim === 'control' ? fixture.stack.pidOf('control/main.ts') : postmasterPid(),
    'SIGKILL',
  );
}

function postmasterPid(): number {
  const file = `${fixture.stack.dataDir}/postgres/postmaster.pid`;
  return Number(readFileSync(file, 'utf8').split('\n')[0]);
}

/** Waits until reads are answered again; returns the accepted generation at that time. */
async function recover(): Promise<number> {
  const deadline = performance.now() + RECOVERY_MS;
  for (;;) {
    const read = await fixture.stack.api
      .call('GET', `/api/v1/firewall/ips/${ADDRESSES[0]}`)
      .catch(() => null);
    if (read?.status === 200) return Number(read.headers['portcullis-accepted-generation']);
    assert.ok(performance.now() < deadline, `the API on port ${API_PORT} did not come back`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function missingFrom(acknowledged: readonly Acknowledged[]): Promise<Acknowledged[]> {
  const present = new Set<number>();
  for (const ip of ADDRESSES) {
    // A process that was killed may still be on its way back.
    await eventually(`${ip} is read`, async () => {
      const read = await fixture.stack.api.call<Accepted>('GET', `/api/x1/firewall/ips/${ip}`);
      if (read.status !== 200) return false;
      for (const { id } of read.body.data.rules) present.add(id);
      return true;
    });
  }
  return acknowledged.filter(({ id }) => !present.has(id));
}
