import assert from 'node:assert/strict';
import { existsSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startTrial, edgeOff, edgeOn } from '../switch/switch-files.ts';
import type { FakeKernel } from '@portcullis/dataplane/nftables/fake.ts';
import { numberOf } from '@portcullis/dataplane/nftables/table/verdict-numbers.ts';
import { opening, testEdge } from '../testing/control.ts';
import { createMachineClock } from '../switch/machine-clock.ts';

const A = '203.0.113.10';
const B = '203.0.113.20';

async function enforcing(t: TestContext) {
  const edge = testEdge(t);
  const { control, start } = edge;
  for (const target of [A, B]) control.policies.set(target, opening(target, 443));
  const agent = await start();
  await control.confirmed();
  control.change([opening(A, 80)], [B]);
  await control.confirmed();
  return { ...edge, agent };
}

/** An agent enforced generation 2, ended, and a reboot cleared the kernel. Control is unreachable. */
async function rebooted(t: TestContext) {
  const edge = await enforcing(t);
  const { control, kernel, agent } = edge;
  await agent.stop();
  await kernel.remove();
  await control.link.control.close();
  control.received.length = 0;
  const written = Promise.withResolvers<void>();
  const { apply } = kernel;
  kernel.apply = async (text) => {
    await apply(text);
    setImmediate(written.resolve);
  };
  /** Control is back. */
  const serve = (): void => {
    const side = control.link.serve(async (_, request) => control.answer(request));
    t.after(() => side.close());
  };
  return { ...edge, written: written.promise, serve };
}

describe('an edge agent with a state on disk', () => {
  it('enforces it immediately, without control', async (t) => {
    const { kernel, start, written, control } = await rebooted(t);
    const agent = await start();
    await written;
    await control.link.control.close();
    assert.equal(kernel.elements()?.get(`port4 ${A} . tcp . 80`), 'accept');
    assert.ok(kernel.elements()?.has(`address4 ${A}`));
    assert.equal(kernel.elements()?.has(`address4 ${B}`), false);
    assert.equal(agent.status().generation, 2);
    assert.deepEqual(control.received, []);
  });

  it('requests the whole state when control is back, and confirms nothing before', async (t) => {
    const { control, kernel, start, written, serve } = await rebooted(t);
    await start();
    await written;
    control.change([opening(B, 81)]);
    serve();
    await control.confirmed(3);
    const [hello, sync, confirm] = control.received.filter(({ kind }) => kind !== 'edge.heartbeat');
    assert.equal(hello?.kind, 'edge.hello');
    assert.equal(sync?.kind === 'edge.sync' && sync.after, 0);
    assert.equal(sync?.kind === 'edge.sync' && sync.sourceSetsVersion, '1');
    assert.equal(confirm?.kind === 'edge.confirm' && confirm.generation, 3);
    assert.equal(kernel.elements()?.get(`port4 ${B} . tcp . 81`), 'accept');
    assert.doesNotMatch(kernel.applied.at(-1) ?? '', /(?:delete|flush) table|203\.0\.113\.10/);
  });

  it('accepts an older state of control after a database restore', async (t) => {
    const { control, kernel, start, written, serve } = await rebooted(t);
    await start();
    await written;
    control.generation = 1;
    control.policies.clear();
    control.policies.set(B, opening(B, 443));
    serve();
    await control.confirmed(1);
    assert.equal(kernel.elements()?.has(`address4 ${A}`), false);
    assert.ok(kernel.elements()?.has(`address4 ${B}`));
  });

  it('loads nothing while disabled, and its state when enabled', async (t) => {
    const { kernel, stateDir, start, written } = await rebooted(t);
    edgeOff(stateDir);
    const agent = await start();
    assert.equal(agent.status().mode, 'observe');
    assert.equal(kernel.elements(), null);
    edgeOn(stateDir, createMachineClock());
    await written;
    assert.ok(kernel.elements()?.has(`address4 ${A}`));
  });

  it('loads nothing when its trial expired while it was stopped', async (t) => {
    const { kernel, stateDir, start } = await rebooted(t);
    const before = kernel.applied.length;
    startTrial(stateDir, -1, createMachineClock());
    const agent = await start();
    assert.equal(agent.status().mode, 'observe');
    await agent.stop();
    assert.equal(kernel.elements(), null);
    assert.equal(kernel.applied.length, before);
  });

  it('reports a damaged state file, enforces its readable part and continues', async (t) => {
    const { control, kernel, stateDir, start, written, serve } = await rebooted(t);
    const path = join(stateDir, 'enforced', 'policy.jsonl');
    truncateSync(path, 40);
    const agent = await start();
    assert.match(agent.status().lastError ?? '', /damaged/);
    assert.equal(kernel.elements(), null);
    serve();
    await written;
    await control.confirmed();
    assert.ok(kernel.elements()?.has(`address4 ${A}`));
    await agent.stop();
    assert.equal(agent.status().lastError, null);
    control.received.length = 0;
    await kernel.remove();
    const again = await start();
    assert.equal(again.status().lastError, null);
  });

  it('keeps a table that equals the one it would write', async (t) => {
    const { control, kernel, start, agent } = await enforcing(t);
    await agent.stop();
    const before = kernel.applied.length;
    control.received.length = 0;
    await start();
    await control.confirmed(2);
    assert.equal(kernel.applied.length, before);
    control.change([opening(A, 81)]);
    await control.confirmed(3);
    assert.doesNotMatch(kernel.applied.at(-1) ?? '', /(?:delete|flush) table/);
    assert.equal(kernel.elements()?.get(`port4 ${A} . tcp . 81`), 'accept');
  });

  it('keeps its table when others wrote theirs while it ran', async (t) => {
    const { control, kernel, start, agent } = await enforcing(t);
    await kernel.apply('add table T\n');
    await agent.stop();
    control.received.length = 0;
    await start();
    await control.confirmed(2);
    assert.equal(wholes(kernel), 1);
  });

  for (const [what, meddle] of Object.entries<(kernel: FakeKernel) => Promise<void>>({
    'somebody wrote to the kernel meanwhile': (kernel) => kernel.apply('add table T\n'),
    'the table is gone': (kernel) => kernel.remove(),
  })) {
    it(`writes its whole table when ${what}`, async (t) => {
      const { control, kernel, start, agent } = await enforcing(t);
      await agent.stop();
      await meddle(kernel);
      control.received.length = 0;
      await start();
      await control.confirmed(2);
      assert.equal(wholes(kernel), 2);
    });
  }

  it('rewrites its table when the settings differ', async (t) => {
    const { control, kernel, start, agent } = await enforcing(t);
    await agent.stop();
    control.received.length = 0;
    await start({ management: [{ protocol: 'tcp', port: 8080 }] });
    await control.confirmed(2);
    assert.equal(wholes(kernel), 2);
  });

  it('keeps a refused target at its last good policy and reports its generation', async (t) => {
    const { control, kernel, start, agent } = await enforcing(t);
    kernel.refuse = (text) => (text.includes(`${A} . tcp . 81 `) ? 'no memory' : null);
    control.change([opening(A, 81)]);
    const refused = [{ target: A, reason: 'no memory', goodGeneration: 2 }];
    assert.deepEqual((await control.confirmed(3)).refused, refused);
    control.change([opening(B, 443)]);
    assert.deepEqual((await control.confirmed(4)).refused, refused);
    await agent.stop();
    await kernel.remove();
    control.received.length = 0;
    const again = await start();
    assert.deepEqual((await control.confirmed(4)).refused, refused);
    const ports = [80, 81].filter((port) => kernel.elements()?.has(`port4 ${A} . tcp . ${port}`));
    assert.deepEqual(ports, [80]);
    kernel.refuse = () => null;
    control.change([opening(A, 82)]);
    assert.deepEqual((await control.confirmed(5)).refused, []);
    await again.stop();
  });

  it('writes the boot-time table while enforcing and removes it when observing', async (t) => {
    const { stateDir, start, agent } = await enforcing(t);
    const path = join(stateDir, 'enforced', 'table.nft');
    await agent.stop();
    assert.match(
      readFileSync(path, 'utf8'),
      new RegExp(`port4.*${A} \\. tcp \\. 80 : ${numberOf('accept')}`, 's'),
    );
    await start({ mode: 'observe' });
    assert.equal(existsSync(path), false);
  });
});

/** The number of writes of the whole table. */
function wholes(kernel: FakeKernel): number {
  return kernel.applied.filter((text) => text.startsWith('add table inet portcullis\n')).length;
}
