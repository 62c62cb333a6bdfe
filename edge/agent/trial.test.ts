import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { AgentRequest } from '@portcullis/link/messages/messages.ts';
import { edgeConfirm, edgeOff, edgeOn, readDisabled } from '../switch/switch-files.ts';
import { opening, testEdge } from '../testing/control.ts';

const A = '203.0.113.10';

describe('an edge on trial', () => {
  it('disables enforcement when a trial expires, also after a kill', async (t) => {
    const { control, kernel, stateDir, start } = testEdge(t);
    let now = 1_000;
    const machineClock = { boot: 'b1', nowMs: () => now };
    const options = { confirmWithinMs: 120_000, machineClock };
    control.policies.set(A, opening(A, 443));
    const killed = await start(options);
    await control.confirmed();
    await killed.stop();
    now += 119_000;
    control.received.length = 0;
    await start(options);
    await control.confirmed();
    now += 1_000;
    await control.next(
      (request) => request.kind === 'edge.heartbeat' && request.mode === 'observe',
    );
    assert.equal(kernel.elements(), null);
    assert.match(readDisabled(stateDir)?.reason ?? '', /not confirmed in time/);
    assert.equal(edgeConfirm(stateDir), 'too_late');
  });

  it('disables enforcement at the end of a trial also on a full disk', async (t) => {
    const { control, kernel, stateDir, start } = testEdge(t);
    let now = 1_000;
    control.policies.set(A, opening(A, 443));
    const machineClock = { boot: 'b1', nowMs: () => now };
    const agent = await start({ confirmWithinMs: 120_000, machineClock });
    await control.confirmed();
    // Neither the temporary nor the final path of the marker is writable.
    mkdirSync(join(stateDir, `off.json.${process.pid}`));
    symlinkSync(join(stateDir, 'no-folder', 'off.json'), join(stateDir, 'off.json'));
    now += 120_000;
    await control.next(
      (request) => request.kind === 'edge.heartbeat' && request.mode === 'observe',
    );
    assert.equal(kernel.elements(), null);
    assert.match(agent.status().reason ?? '', /not confirmed in time, which could not be saved/);
    assert.equal(readDisabled(stateDir), null);
  });

  it('times a trial by the clock since boot', async (t) => {
    const { control, kernel, stateDir, start } = testEdge(t);
    const dates = [Date.parse('1970-01-01T00:00:30Z'), Date.parse('2036-11-21T10:00:00Z')];
    let [now, date] = [1_000, Date.parse('2026-11-21T10:00:00Z')];
    const machineClock = { boot: 'b1', nowMs: () => now };
    control.policies.set(A, opening(A, 443));
    await start({ confirmWithinMs: 120_000, machineClock, clock: () => new Date(date) });
    await control.confirmed();
    for (date of dates.toReversed()) {
      now += 50_000;
      control.change([opening(A, 80)]);
      await control.confirmed();
      assert.equal(readDisabled(stateDir), null);
    }
    now += 20_000;
    const isOff = (request: AgentRequest) =>
      request.kind === 'edge.heartbeat' && request.mode === 'observe';
    await control.next(isOff);
    assert.equal(kernel.elements(), null);
  });

  it('ends a trial at a reboot', async (t) => {
    const { control, kernel, stateDir, start } = testEdge(t);
    const options = { confirmWithinMs: 120_000 };
    control.policies.set(A, opening(A, 443));
    const before = await start({ ...options, machineClock: { boot: 'b1', nowMs: () => 50_000 } });
    await control.confirmed();
    await before.stop();
    await kernel.remove();
    const agent = await start({ ...options, machineClock: { boot: 'b2', nowMs: () => 10 } });
    assert.equal(agent.status().mode, 'observe');
    assert.equal(kernel.elements(), null);
    assert.match(readDisabled(stateDir)?.reason ?? '', /not confirmed in time/);
  });

  it('keeps enforcing across restarts once confirmed', async (t) => {
    const { control, kernel, stateDir, start } = testEdge(t);
    let now = 1_000;
    const machineClock = { boot: 'b1', nowMs: () => now };
    const options = { confirmWithinMs: 120_000, machineClock };
    assert.equal(edgeConfirm(stateDir), 'none');
    const agent = await start(options);
    await control.confirmed();
    assert.equal(edgeConfirm(stateDir), 'confirmed');
    now += 3_600_000;
    await agent.stop();
    control.received.length = 0;
    await start(options);
    await control.confirmed();
    assert.notEqual(kernel.elements(), null);
    assert.equal(readDisabled(stateDir), null);
  });

  it('reports at once that a trial was confirmed', { timeout: 60_000 }, async (t) => {
    const { control, stateDir, start } = testEdge(t);
    control.heartbeatMs = 3_600_000;
    control.policies.set(A, opening(A, 443));
    await start({ confirmWithinMs: 120_000, watchMs: 3_600_000 });
    await control.confirmed();
    if (!control.received.some(isTrial)) await control.next(isTrial);
    const reported = control.next(
      (request) => request.kind === 'edge.heartbeat' && request.modeReason === null,
    );
    assert.equal(edgeConfirm(stateDir), 'confirmed');
    await reported;
  });

  it('begins no trial unsaid: enabling again is for good, unless a trial is asked for', async (t) => {
    const { control, stateDir, start } = testEdge(t);
    let now = 1_000;
    const machineClock = { boot: 'b1', nowMs: () => now };
    control.policies.set(A, opening(A, 443));
    const agent = await start({ confirmWithinMs: 120_000, machineClock });
    await control.confirmed();
    await control.next(isTrial);
    assert.match(agent.status().reason ?? '', /^on trial: disabled at 2.*Z unless somebody runs/);
    assert.equal(edgeConfirm(stateDir), 'confirmed');
    edgeOff(stateDir);
    await control.next(isOff);
    control.received.length = 0;
    edgeOn(stateDir, machineClock);
    await control.confirmed();
    now += 3_600_000;
    control.change([opening(A, 80)]);
    await control.confirmed();
    assert.equal(readDisabled(stateDir), null);
    edgeOff(stateDir);
    await control.next(isOff);
    control.received.length = 0;
    edgeOn(stateDir, machineClock, 60_000);
    await control.next(isTrial);
    now += 60_000;
    await control.next(isOff);
    assert.match(readDisabled(stateDir)?.reason ?? '', /not confirmed in time/);
  });

  it('ends a running trial for good when it is started to enforce without one', async (t) => {
    const { control, start } = testEdge(t);
    let now = 1_000;
    const machineClock = { boot: 'b1', nowMs: () => now };
    control.policies.set(A, opening(A, 443));
    const first = await start({ confirmWithinMs: 120_000, machineClock });
    await control.confirmed();
    await first.stop();
    control.received.length = 0;
    const second = await start({ machineClock });
    await control.confirmed();
    now += 3_600_000;
    control.change([opening(A, 80)]);
    await control.confirmed();
    assert.deepEqual([second.status().mode, second.status().reason], ['enforce', null]);
  });
});

const isOff = (request: AgentRequest): boolean =>
  request.kind === 'edge.heartbeat' && request.mode === 'observe';
const isTrial = (request: AgentRequest): boolean =>
  request.kind === 'edge.heartbeat' && request.mode === 'enforce' && request.modeReason !== null;
