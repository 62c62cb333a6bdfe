import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PowerSignal, ServerState } from '@portcullis/core/game-servers/power.ts';
import { createNode } from '@portcullis/node/create-node.ts';
import { FakeEngine } from '@portcullis/node/engine/fake.ts';
import { NODE, TestControl } from '@portcullis/node/testing/control.ts';
import { assignmentOf, EGG, uuidOf } from '@portcullis/node/testing/eggs.ts';

const CALLS = 400;
const AGAIN_MS = 2;
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Milliseconds from a call of control to the agent's acceptance, each of which changes something: the agent, its
 * journal on the disk and the link, with an engine that does everything at once.
 */
export async function inProcessDelays(): Promise<number[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-bench-node-'));
  const control = new TestControl();
  const node = createNode({
    name: NODE,
    link: control.connect(),
    engine: new FakeEngine(),
    stateDir,
    accounts: null,
    applyConfigFiles: async () => [],
    log: quiet,
  });
  try {
    const uuid = uuidOf(1);
    const digest = createHash('sha256').update(JSON.stringify(EGG)).digest('hex');
    control.assign([assignmentOf(1, digest)], { [digest]: EGG });
    node.start();
    await control.reported(uuid, ({ state }) => state === 'built');
    const delays: number[] = [];
    for (let call = 0; call < CALLS; call++) {
      const isStart = call % 2 === 0;
      delays.push(await callDelay(control, uuid, isStart ? 'start' : 'kill'));
      await looksLike(control, uuid, isStart ? 'running' : 'offline');
    }
    return delays;
  } finally {
    await node.stop();
    await control.close();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

async function callDelay(control: TestControl, uuid: string, signal: PowerSignal): Promise<number> {
  const begin = performance.now();
  const answer = await control.call(uuid, { kind: 'power', signal });
  if (answer?.kind !== 'accepted') throw new Error(`${signal}: ${JSON.stringify(answer)}`);
  return performance.now() - begin;
}

/** Its reports gather what changes for a while; a look is at once. */
async function looksLike(control: TestControl, uuid: string, wanted: ServerState): Promise<void> {
  for (;;) {
    const answer = await control.call(uuid, { kind: 'look' });
    if (answer?.kind === 'state' && answer.state === wanted) return;
    await delay(AGAIN_MS);
  }
}
