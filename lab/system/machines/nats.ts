import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Machine, type Machines, PROTECTED } from '../../stack/machines.ts';
import { eventually } from '../stack-fixture.ts';

const RULES = `/api/v1/firewall/ips/${PROTECTED}/rules`;
let machines: Machines;
let lastPort = 2_000;

/** Tests edges of other hosts; `ams1` has no credential afterwards. */
export function natsTests(started: () => Machines): void {
  describe('edges of other hosts, over NATS', () => {
    before(() => {
      machines = started();
    });

    it('have a rule in their kernels when it is called live', async () => {
      const port = await denyPort();
      for (const edge of machines.edges) assert.ok(denies(edge, port), edge.name);
    });

    it('enforce while NATS is killed; writes are accepted, and live once it is back', async (t) => {
      const before = await denyPort();
      await machines.end('nats', 'SIGKILL');
      let accepted: Awaited<ReturnType<typeof accept>>;
      try {
        accepted = await accept();
        assert.equal(await isLive(accepted.generation), false);
        for (const edge of machines.edges) {
          assert.ok(denies(edge, before) && !denies(edge, accepted.port), edge.name);
        }
        await machines.logged('control', 'NATS is away');
      } finally {
        await machines.startNats();
      }
      const { port, generation } = accepted;
      await measure(t, 'live after NATS is back', () => machines.api.liveAt(PROTECTED, generation));
      for (const edge of machines.edges) assert.ok(denies(edge, port), edge.name);
    });

    it('are not called live while one that is in service is cut off', async (t) => {
      const [fra1, ams1] = machines.edges as [Machine, Machine];
      machines.setWire('ams1', 'down');
      let accepted: Awaited<ReturnType<typeof accept>>;
      try {
        accepted = await accept();
        const { port, generation } = accepted;
        await eventually('fra1 enforces it', async () => denies(fra1, port));
        await delay(2_000);
        assert.equal(await isLive(generation), false);
        assert.ok(!denies(ams1, port));
      } finally {
        machines.setWire('ams1', 'up');
      }
      const { port, generation } = accepted;
      await measure(t, 'live after the wire is mended', () =>
        machines.api.liveAt(PROTECTED, generation),
      );
      assert.ok(denies(ams1, port));
    });

    returnTests();
  });
}

function returnTests(): void {
  it('join again after control was killed and started again', async (t) => {
    await machines.end('control', 'SIGKILL');
    await machines.startControl();
    await measure(t, 'live after control is back', () => denyPort());
  });

  it('get another credential when theirs is a month old, and the old one is refused', async (t) => {
    const old = machines.credential('fra1');
    const [fra1] = machines.edges as [Machine, Machine];
    const before = await denyPort();
    await machines.ageCredential('fra1');
    // It asks at every connection, and daily.
    await machines.end('fra1', 'SIGTERM');
    machines.startEdge('fra1');
    await machines.logged('fra1', 'control has another credential');
    await eventually('it started again with it', async () =>
      /another credential[^]*stopping; the kernel[^]*joined control/.test(machines.logOf('fra1')),
    );
    assert.ok(denies(fra1, before));
    await measure(t, 'live with the new credential', () => denyPort());
    assert.notEqual(machines.credential('fra1'), old);
    assert.match(await machines.joinAs('fra1', old), /refuses the credential|not the credential/);
    await machines.api.liveAt(PROTECTED, (await accept()).generation);
  });

  it('are refused at once when their credential is revoked, wherever it is used', async () => {
    const copy = machines.credential('ams1');
    await machines.command('edges', 'revoke', 'ams1');
    await machines.logged('ams1', 'control refuses this edge');
    const stranger = await machines.joinAs('ams1', copy);
    assert.match(stranger, /refuses the credential/);
    const [, ams1] = machines.edges as [Machine, Machine];
    assert.ok(denies(ams1, lastPort), 'its kernel keeps what it had');
  });
}

/** Accepts a rule on another port. */
async function accept(): Promise<{ readonly port: number; readonly generation: number }> {
  const port = (lastPort += 1);
  const rule = { action: 'deny', protocol: 'tcp', destination_port: String(port) };
  const { status, headers, body } = await machines.api.call('POST', RULES, rule);
  assert.equal(status, 201, JSON.stringify(body));
  return { port, generation: Number(headers['portcullis-generation']) };
}

async function denyPort(): Promise<number> {
  const { port, generation } = await accept();
  await machines.api.liveAt(PROTECTED, generation);
  return port;
}

async function isLive(generation: number): Promise<boolean> {
  const { headers } = await machines.api.call('GET', `/api/v1/firewall/ips/${PROTECTED}`);
  return Number(headers['portcullis-generation']) >= generation;
}

function denies({ namespace }: Machine, port: number): boolean {
  return new RegExp(`\\b${port}\\b`).test(namespace.run('nft', 'list', 'ruleset'));
}

async function measure(t: TestContext, what: string, act: () => Promise<unknown>): Promise<void> {
  const startMs = performance.now();
  await act();
  t.diagnostic(`${what}: ${Math.round(performance.now() - startMs)} ms`);
}
