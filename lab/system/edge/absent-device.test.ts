import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { edgeStatus } from '../../stack/edge-status.ts';
import { EDGE_DEVICE, SERVER } from '../../stack/internet.ts';
import { defaultFleet } from '../../stack/stack.ts';
import {
  eventually,
  packet,
  type StackFixture,
  startStackFixture,
  whyNot,
} from '../stack-fixture.ts';
import { makeUplink, restoreUplink } from './uplink.ts';

const skip = whyNot();
const [DENIED, OPEN] = [19, 27_016];
/** A name that the fleet does not know. */
const OTHER = 'ens18';
const WITHIN_MS = 30_000;
/** From a change of the device to the header of an answer; a tenth of a second on an idle machine. A heartbeat comes each 15 s. */
const PROMPT_MS = 10_000;

let fixture: StackFixture;

/** The answers of every surface on enforcement at one moment. */
interface Said {
  readonly readyz: string;
  readonly header: string;
  readonly service: string;
  readonly mode: string | null;
}

/** The only device of an edge comes and goes under traffic: what is claimed is what packets meet. */
describe('an edge and its device', { skip }, () => {
  before(async () => {
    fixture = await startStackFixture('absent-device');
    const deny = { action: 'deny', protocol: 'udp', destination_port: String(DENIED) } as const;
    await fixture.stack.api.createRule(SERVER[4], deny);
  });
  after(() => fixture.stop());

  it('enforces while packets can come in by it', async () => {
    await says({ readyz: 'full', header: 'full', service: 'in service', mode: 'enforce' });
    await drops();
  });

  it('enforces nothing while the device is down, and again when it is up', async (t) => {
    const { edge } = fixture.internet;
    edge.run('ip', 'link', 'set', EDGE_DEVICE, 'down');
    try {
      await promptly('none', t);
      await saysNothingIsEnforced(/wan \(it is down\)/);
      const { headers, body } = await write();
      assert.equal(headers['portcullis-enforcement'], 'none');
      assert.match(body.message, /enforced|enforces/i);
    } finally {
      edge.run('ip', 'link', 'set', EDGE_DEVICE, 'up');
    }
    await promptly('full', t);
    restoreUplink(fixture.internet);
    await says({ readyz: 'full', header: 'full', service: 'in service', mode: 'enforce' });
    await drops();
  });

  it('keeps a device that is renamed while it runs, and says that a restart would not', async () => {
    const { edge } = fixture.internet;
    rename(EDGE_DEVICE, OTHER);
    await says({ readyz: 'partial', header: 'partial', service: 'in service', mode: 'enforce' });
    await drops();
    const { report } = await edgeStatus(fixture.stack);
    assert.match(report?.problems.join() ?? '', /wan \(it is called ens18 now/);
    assert.match(edge.run('nft', 'list', 'table', 'inet', 'portcullis'), /"ens18"/);
  });

  it('enforces nothing after a restart on a host whose device has another name', async () => {
    await fixture.stack.terminate();
    assert.equal(await fixture.stack.start('--enforce'), 'no_device');
    await saysNothingIsEnforced(/wan \(there is no such device on this host\)/);
    await eventually('packets pass, as it says', () => passes(DENIED));
    const planned = await at().command('fleet', 'plan', fixture.stack.fleetFile);
    assert.match(planned, /no device wan, so it will enforce nothing\. It has: .*ens18/);
  });

  it('enforces as soon as the operator names the device, by a pattern', async () => {
    await fixture.stack.applyFleet(
      defaultFleet().replace(`devices: [${EDGE_DEVICE}]`, `devices: ["ens*"]`),
    );
    await says({ readyz: 'full', header: 'full', service: 'in service', mode: 'enforce' });
    await drops();
    rename(OTHER, EDGE_DEVICE);
    // Renamed while the edge runs: it keeps its protection.
    await drops();
    await fixture.stack.applyFleet(defaultFleet());
    await says({ readyz: 'full', header: 'full', service: 'in service', mode: 'enforce' });
  });

  it('enforces nothing while the device is deleted, and again when it is back', async (t) => {
    const { edge } = fixture.internet;
    edge.run('ip', 'link', 'del', EDGE_DEVICE);
    await promptly('none', t);
    await saysNothingIsEnforced(/wan \(there is no such device on this host\)/);
    makeUplink(fixture.internet);
    await promptly('full', t);
    await says({ readyz: 'full', header: 'full', service: 'in service', mode: 'enforce' });
    await drops();
  });
});

async function says(wanted: Said): Promise<void> {
  let now: Said | null = null;
  await eventually(
    `every surface says ${JSON.stringify(wanted)}`,
    async () => {
      now = await said(wanted);
      return isDeepStrictEqual(now, wanted);
    },
    WITHIN_MS,
  ).catch(() => assert.deepEqual(now, wanted));
}

/** The header of an answer follows within a second; how long it took is shown. */
async function promptly(enforcement: string, t: TestContext): Promise<void> {
  const startMs = performance.now();
  const { api } = at();
  await eventually(`enforcement is ${enforcement}`, async () => {
    const { headers } = await api.call('GET', `/api/v1/firewall/ips/${SERVER[4]}`);
    return headers['portcullis-enforcement'] === enforcement;
  });
  const tookMs = performance.now() - startMs;
  t.diagnostic(`${enforcement} after ${Math.round(tookMs)} ms`);
  assert.ok(tookMs < PROMPT_MS, `${tookMs} ms`);
}

async function saysNothingIsEnforced(reason: RegExp): Promise<void> {
  await says({ readyz: 'none', header: 'none', service: 'no device', mode: 'no_device' });
  assert.match((await edgeStatus(fixture.stack)).modeReason ?? '', reason);
}

/** The command, which takes longest, says what it says once the others say what is wanted. */
async function said(wanted: Said): Promise<Said> {
  const { api, command } = at();
  const ready = await api.call<{ readonly enforcement: { readonly state: string } }>(
    'GET',
    '/readyz',
  );
  const read = await api.call('GET', `/api/v1/firewall/ips/${SERVER[4]}`);
  const { mode } = await edgeStatus(fixture.stack);
  const others = {
    readyz: ready.body.enforcement.state,
    header: String(read.headers['portcullis-enforcement']),
    mode,
  };
  const { service: _, ...expected } = wanted;
  if (!isDeepStrictEqual(others, expected)) return { ...others, service: 'not read yet' };
  const text = await command('edges', 'list');
  return {
    ...others,
    service: /in service|no device|out of service|observes/.exec(text)?.[0] ?? text,
  };
}

/** A write that waits for an edge. */
function write() {
  const rule = { action: 'deny', protocol: 'udp', destination_port: '20' };
  return at().api.call<{ readonly message: string }>(
    'POST',
    `/api/v1/firewall/ips/${SERVER[4]}/rules`,
    rule,
  );
}

function at() {
  const { stack } = fixture;
  return { api: stack.api, command: stack.command.bind(stack) };
}

function rename(from: string, to: string): void {
  const { edge } = fixture.internet;
  edge.run('ip', 'link', 'set', from, 'down');
  edge.run('ip', 'link', 'set', from, 'name', to);
  edge.run('ip', 'link', 'set', to, 'up');
  restoreUplink(fixture.internet, to);
}

function passes(destinationPort: number): Promise<boolean> {
  return fixture.through.passes(packet(4, 'udp', { destinationPort }));
}

async function drops(): Promise<void> {
  assert.deepEqual([await passes(DENIED), await passes(OPEN)], [false, true]);
}
