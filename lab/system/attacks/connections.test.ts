import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setPriority } from 'node:os';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { linkOf } from '../../bench/generator/traffic.ts';
import { require } from '../../requirements.ts';
import { EDGE_DEVICE, SERVER } from '../../stack/internet.ts';
import { addAddress, addRoute, type Namespace } from '../../stack/netns.ts';
import { eventually } from '../stack-fixture.ts';
import { AutonomousEdge } from './autonomous-edge.ts';

const SCOPE: WatchScope = {
  scope: '203.0.113.0/24',
  pps: 2_000,
  bps: 1_000_000_000,
  holdMs: 4_000,
  mitigation: 'on',
  safelist: [],
  subject: true,
};
const target = SERVER[4];
const CROWD = join(import.meta.dirname, 'crowd-process.ts');
const FLOOD = join(import.meta.dirname, 'ack_flood.py');

describe('an edge that sees both directions of connections', () => {
  it('knows an ACK flood with payload by the connections that are not there', async (t) => {
    const fixture = await prepare(t);
    if (fixture === null) return;
    const { client, edge } = fixture.internet;
    const mac = linkOf(edge, EDGE_DEVICE).address;
    const sent = Number(
      await outputOf(client, ['python3', FLOOD, 'eth0', mac, target, '6000', '6']),
    );
    assert.equal(sent, 36_000);
    await fixture.comeControl();
    await eventually('control receives it', async () => fixture.reported.length > 0, 60_000);
    assert.deepEqual(
      fixture.reported.map(({ subject, type }) => [subject, type]),
      [[target, 'tcp_ack_flood']],
    );
  });

  it('lets twelve real sources with thousands of packets a second be', async (t) => {
    const fixture = await prepare(t);
    if (fixture === null) return;
    const { client, edge, server } = fixture.internet;
    const sources = Array.from({ length: 12 }, (_, index) => `100.66.0.${index + 1}`);
    for (const source of sources) addAddress(client, 'eth0', `${source}/32`);
    addRoute(edge, '100.66.0.0/24', '192.0.2.2');
    const serving = server.spawn([process.execPath, CROWD, 'serve'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => serving.kill('SIGKILL'));
    await once(createInterface({ input: serving.stdout as Readable }), 'line');
    const args = [sources.join(','), target, '700', '8'];
    const result = await outputOf(client, [process.execPath, CROWD, ...args]);
    const { opened, served } = JSON.parse(result) as Record<'opened' | 'served', number>;
    await fixture.comeControl();
    const samples = () => fixture.control.received.filter(({ kind }) => kind === 'watch.samples');
    // An edge reports attacks with its first bucket that control has taken.
    await eventually('control receives samples again', async () => samples().length >= 20);
    assert.deepEqual([fixture.reported, served], [[], opened]);
  });
});

/** The output of a program that ends by itself. */
async function outputOf(where: Namespace, command: string[]): Promise<string> {
  const child = where.spawn(command, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout?.on('data', (data: Buffer) => {
    output += data.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  assert.equal(code, 0, command.join(' '));
  return output.trim();
}

/** An edge that acts by itself, because its control plane has gone. */
async function prepare(t: TestContext): Promise<AutonomousEdge | null> {
  if (!require(t, ['root', 'netns', 'nft', 'bpf', 'python3'])) return null;
  setPriority(-10);
  const fixture = new AutonomousEdge('crowds');
  t.after(() => fixture.destroy());
  fixture.control.scopes = [SCOPE];
  fixture.control.watchVersion = 'w1';
  await fixture.comeControl();
  fixture.startEdge();
  await fixture.control.confirmed();
  const isCounting = async () =>
    fixture.control.received.some(({ kind }) => kind === 'watch.samples');
  await eventually('it asked what to watch', isCounting);
  await fixture.loseControl();
  // Control does not see traffic from here on.
  await wait(4_000);
  fixture.control.received.length = 0;
  return fixture;
}
