import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { edgeOff } from '../switch/switch-files.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import { opening, testEdge } from '../testing/control.ts';
import { Guard } from './guard.ts';

const A = '203.0.113.10';
const KEY = `address4 ${A}`;

describe('a program that keeps changing the table', () => {
  it('is reported while it does so, and not once it is over', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let nowMs = 0;
    let change = (_what: string): void => {};
    const driver: Pick<Driver, 'watch'> = {
      watch(report) {
        change = report;
        return { poll() {}, stop() {} };
      },
    };
    const guard = new Guard({
      driver: driver as Driver,
      watchLinks: null,
      devices: { follow() {}, beforeLook() {} },
      earlyDrop: null,
      log: { debug() {}, info() {}, warn() {}, error() {} },
      enforcing: () => true,
      invalidate() {},
      repair() {},
      linksChanged() {},
      nowMs: () => nowMs,
    });
    guard.start();
    for (let count = 0; count < 15; count += 1) {
      change('an element was removed');
      t.mock.timers.tick(1_500);
      nowMs += 1_500;
    }
    assert.match(guard.problem ?? '', /another program keeps changing our table/);
    nowMs += 15_000;
    assert.equal(guard.problem, null);
    guard.stop();
  });
});

describe('an edge whose table another program changes', () => {
  it('writes the whole table again in one transaction', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    await start();
    await control.confirmed();
    const repaired = kernel.nextApply();
    kernel.meddle((elements) => assert.ok(elements.delete(KEY)));
    assert.match(
      await repaired,
      /^add table inet portcullis\n(?:delete|flush) table inet portcullis\n/,
    );
    assert.equal(kernel.elements()?.has(KEY), true);
  });

  it('reports the disturbance until it is repaired, and the number of disturbances', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    await start();
    await control.confirmed();
    const reported = async (): Promise<[string, number]> => {
      const seen = control.received.length;
      await control.next(({ kind }) => kind === 'edge.heartbeat');
      const beat = control.received.slice(seen).findLast((one) => one.kind === 'edge.heartbeat');
      return beat === undefined ? ['', 0] : [beat.report.kernel, beat.report.repairs];
    };
    assert.deepEqual(await reported(), ['undisturbed', 0]);
    const held = Promise.withResolvers<void>();
    kernel.beforeApply = () => held.promise;
    kernel.meddle((elements) => elements.delete(KEY));
    assert.deepEqual(await reported(), ['disturbed', 0]);
    const repaired = kernel.nextApply();
    held.resolve();
    await repaired;
    await control.next(({ kind }) => kind === 'edge.heartbeat');
    assert.deepEqual(await reported(), ['undisturbed', 1]);
  });

  it('does not take its own edge off for another program', async (t) => {
    const { control, kernel, stateDir, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    const warned: string[] = [];
    const log = {
      debug() {},
      info() {},
      warn: (_: object, message: string) => void warned.push(message),
      error() {},
    };
    await start({ log });
    await control.confirmed();
    // In this order, as the command does it, before the agent polls its markers.
    edgeOff(stateDir);
    kernel.meddle((elements) => elements.clear());
    await control.next((request) => request.kind === 'edge.hello' && request.mode === 'observe');
    assert.deepEqual(
      warned.filter((message) => message.includes('another program')),
      [],
    );
  });

  it('repairs while control delays the answer to a confirmation', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    control.unansweredKind = 'edge.confirm';
    await start();
    await control.confirmed();
    const repaired = kernel.nextApply();
    kernel.meddle((elements) => assert.ok(elements.delete(KEY)));
    await repaired;
    assert.equal(kernel.elements()?.has(KEY), true);
  });

  it('repairs changes made during its write', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    await start();
    await control.confirmed();
    kernel.beforeApply = async () => {
      kernel.beforeApply = async () => {};
      kernel.meddle((elements) => elements.delete(KEY));
    };
    control.change([opening(A, 80)]);
    await control.confirmed();
    // The current change, and at most one more after the detection.
    if (kernel.elements()?.has(KEY) !== true) await kernel.nextApply();
    assert.equal(kernel.elements()?.has(KEY), true);
  });

  it('slows down and reports it when another program undoes every repair', async (t) => {
    const { control, kernel, start } = testEdge(t);
    control.policies.set(A, opening(A, 443));
    const agent = await start();
    await control.confirmed();
    for (let repair = 1; repair <= 10; repair++) {
      const repaired = kernel.nextApply();
      kernel.meddle((elements) => elements.delete(KEY));
      await repaired;
    }
    assert.equal(agent.status().lastError, null);
    const before = kernel.applied.length;
    for (let more = 0; more < 10; more++) {
      kernel.meddle((elements) => elements.delete(KEY));
      await control.next(({ kind }) => kind === 'edge.heartbeat');
    }
    assert.ok(kernel.applied.length - before <= 2, `${kernel.applied.length - before}`);
    assert.match(
      agent.status().lastError ?? '',
      /keeps changing our table: deleted elements; repai/,
    );
    // A change by the operator is not delayed by that.
    control.change([opening(A, 80)]);
    await control.confirmed();
    assert.equal(kernel.elements()?.has(KEY), true);
  });
});
