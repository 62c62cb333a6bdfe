import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'node:test';
import { isDisturbed, type MachineUse, ProcessorMeter } from './processor-use.ts';

/** A busy machine takes its time. */
const LIMIT_MS = 90_000;
/** A script that needs a few hundred milliseconds of a processor, however long that takes. */
const BURN = 'i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done';
/** Less than the script needs on any processor, and more than the other programs of these tests. */
const BURNT_MS = 50;

test('a tree counts descendants that ended, and not those of another tree', async () => {
  const inner = `read go; sh -c "${BURN.replaceAll('$', String.raw`\$`)}"; echo burnt; read end`;
  // A program in the background has no input but what it is given.
  const outer = spawn('sh', ['-c', 'exec 3<&0; sh -c "$0" <&3 & echo $!; wait', inner], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const pid = Number(await line(outer));
    const apart = new ProcessorMeter({ outer: [outer.pid ?? 0], inner: [pid] });
    const whole = new ProcessorMeter({ outer: [outer.pid ?? 0] });
    outer.stdin.write('\n');
    assert.equal(await line(outer), 'burnt');
    const { trees } = apart.stop();
    assert.ok(trees.inner.ranMs >= BURNT_MS, `${trees.inner.ranMs} ms in the inner tree`);
    assert.ok(trees.outer.ranMs < BURNT_MS, `${trees.outer.ranMs} ms in the outer tree`);
    const { ranMs } = whole.stop().trees.outer;
    assert.ok(ranMs >= BURNT_MS, `${ranMs} ms in the whole tree`);
  } finally {
    await endAtOnce(outer);
  }
});

test('two programs on one core wait for each other', async () => {
  const [core = '0'] =
    /^Cpus_allowed_list:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.slice(1) ?? [];
  const pinned = [0, 1].map(() =>
    spawn('taskset', ['-c', core, 'sh', '-c', 'while :; do :; done'], { stdio: 'ignore' }),
  );
  const pids = pinned.map(({ pid }) => pid ?? 0);
  try {
    const until = performance.now() + LIMIT_MS;
    let waitedMs = 0;
    while (waitedMs < 100 && performance.now() < until) {
      const meter = new ProcessorMeter({ pinned: pids });
      await delay(500);
      waitedMs = meter.stop().trees.pinned.waitedMs;
    }
    assert.ok(waitedMs >= 100, `${waitedMs} ms`);
  } finally {
    await Promise.all(pinned.map(endAtOnce));
  }
});

test('what a program that is no descendant uses is of others', async () => {
  const meter = new ProcessorMeter({ ours: [process.pid] });
  // Its parent ends at once, so that it is no descendant of this process.
  const parent = spawn('sh', ['-c', 'sh -c "$0" >/dev/null & echo $!', BURN], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = Number(await line(parent));
  const until = performance.now() + LIMIT_MS;
  while (existsSync(`/proc/${pid}`) && performance.now() < until) await delay(20);
  const { othersMs } = meter.stop();
  assert.ok(othersMs >= BURNT_MS, `${othersMs} ms of others`);
});

test('others disturb above a tenth of the machine', () => {
  const use = (othersMs: number): MachineUse<never> => ({
    tookMs: 1,
    trees: {},
    othersMs,
    pressure: null,
  });
  assert.equal(isDisturbed(use(0)), false);
  assert.equal(isDisturbed(use(1_000)), true);
});

async function line(child: ChildProcess): Promise<string> {
  const [chunk] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  return chunk.toString().trim();
}

async function endAtOnce(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
