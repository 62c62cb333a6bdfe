import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { edgeStatus } from '../../stack/edge-status.ts';
import { SERVER } from '../../stack/internet.ts';
import { defaultFleet } from '../../stack/stack.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  packet,
  whyNot,
} from '../stack-fixture.ts';
import { assertUndisturbed, duringSteadyFlows, protectServer } from './steady-flows.ts';

/** The ports denied in turn on an otherwise open address; the steady flows go to its neighbour. */
const NEIGHBOUR = SERVER.neighbours[0];
const [FIRST, SECOND, THIRD] = [5_001, 5_201, 5_401];
/** One heartbeat, and the time until it is shown. */
const SHOWN_MS = 40_000;

let fixture: StackFixture;

/** The edge's state directory is on its own disk, which another process fills. */
describe('a full disk under the state of an edge', { skip: whyNot() }, () => {
  before(async () => {
    const fleet = defaultFleet().replace('limits: {', 'limits: { rules_per_ip: 1000,');
    fixture = await startStackFixture('full-disk', { fleet });
    const { stack } = fixture;
    await stack.terminate();
    rmSync(stateDir(), { recursive: true });
    execFileSync('mkdir', [stateDir()]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=0700', 'edge-state', stateDir()]);
    await stack.start('--enforce');
    await protectServer(fixture);
    await eventually('its table is on disk', async () => existsSync(onDisk('table.nft')));
  });
  after(async () => {
    await fixture?.stack.terminate();
    execFileSync('umount', [stateDir()]);
    await fixture?.stop();
  });

  it('what changes is enforced and confirmed all the same, and what is wrong is said everywhere', async () => {
    const { stack, through } = fixture;
    fill();
    assert.equal(await through.passes(udp(FIRST)), true);
    const flows = await duringSteadyFlows(fixture, () => deny(FIRST));
    assertUndisturbed(flows);
    assert.deepEqual(
      [await through.passes(udp(FIRST)), await through.passes(udp(SECOND))],
      [false, true],
    );
    assert.doesNotMatch(onDiskText('policy.jsonl'), new RegExp(String(FIRST)));
    await eventually(
      'edges show says it',
      async () => /could not be written.*(?:ENOSPC|no space)/i.test((await lastError()) ?? ''),
      SHOWN_MS,
    );
    assert.match(await stack.command('edges', 'list'), /could not be written/);
    assert.match(logged(), /the disk fails this edge/);
  });

  it('kill -9 of the agent, and of everything, opens no window, though the disk lags behind the kernel', async () => {
    const { stack, through } = fixture;
    const flows = await duringSteadyFlows(fixture, async () => {
      process.kill(stack.pidOf('edge/main.ts'), 'SIGKILL');
      await deny(SECOND);
      await stack.killAll();
      await stack.start('--enforce');
      await stack.api.enforced(NEIGHBOUR);
    });
    assertUndisturbed(flows);
    for (const port of [FIRST, SECOND]) assert.equal(await through.passes(udp(port)), false);
  });

  it('edge off disables enforcement all the same, and edge on restores it', async () => {
    const { stack, through } = fixture;
    fill();
    await stack.command('edge', 'off');
    for (const port of [FIRST, SECOND]) assert.equal(await through.passes(udp(port)), true);
    await stack.command('edge', 'on');
    for (const port of [FIRST, SECOND])
      await eventually('it enforces again', async () => !(await through.passes(udp(port))));
  });

  it('is written again when there is space, and the problem disappears', async () => {
    const { stack, through } = fixture;
    empty();
    await deny(THIRD);
    await eventually(
      'it is on disk',
      async () => onDiskText('policy.jsonl').includes(`${THIRD}`),
      SHOWN_MS,
    );
    await eventually('as text too', async () => boots().includes(`${THIRD}`), SHOWN_MS);
    await eventually(
      'nothing is wrong any more',
      async () => (await lastError()) === null,
      SHOWN_MS,
    );
    assert.doesNotMatch(await stack.command('edges', 'list'), /could not be written/);
    for (const port of [FIRST, SECOND, THIRD]) assert.equal(await through.passes(udp(port)), false);
  });
});

const stateDir = (): string => join(fixture.stack.dataDir, 'edge');
const onDisk = (name: string): string => join(stateDir(), 'enforced', name);
const udp = (port: number) => packet(4, 'udp', { destination: NEIGHBOUR, destinationPort: port });

function onDiskText(name: string): string {
  return existsSync(onDisk(name)) ? readFileSync(onDisk(name), 'utf8') : '';
}

/** The text that a boot would load. */
function boots(): string {
  return ['table.nft', 'table-since.nft'].map(onDiskText).join('\n');
}

/** Fills the disk to the last byte, including what a replaced file frees. */
function fill(): void {
  for (let tries = 0; statfsSync(stateDir()).bavail > 0; tries++) {
    assert.ok(tries < 100, `it does not stay full: ${readdirSync(stateDir()).join()}`);
    const { bavail, bsize } = statfsSync(stateDir());
    try {
      appendFileSync(join(stateDir(), 'of-somebody-else'), Buffer.alloc(bavail * bsize));
    } catch (error) {
      // The edge has taken some of the space first.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}

function empty(): void {
  rmSync(join(stateDir(), 'of-somebody-else'));
}

/** With enough other ports that its text exceeds the rest of a last page. */
async function deny(port: number): Promise<void> {
  const ports = `${port},${port + 1_000}-${port + 1_080}`;
  const rule = { action: 'deny', protocol: 'udp', destination_port: ports } as const;
  await fixture.stack.api.createRule(NEIGHBOUR, rule);
}

async function lastError(): Promise<string | null> {
  const { report } = await edgeStatus(fixture.stack);
  return report === null ? 'no report' : report.lastError;
}

function logged(): string {
  return readFileSync(join(fixture.stack.dataDir, '..', 'up.log'), 'utf8');
}
