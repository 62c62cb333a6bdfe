import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type ConsoleNews, followConsole } from './follow-console.ts';

/** A console that has written this many lines. */
function consoleOf(written: { count: number | null }) {
  const asked: number[] = [];
  const read = async (lines: number) => {
    asked.push(lines);
    const { count } = written;
    if (count === null) return { lines: null, last_number: null };
    const all = Array.from({ length: Math.min(count, 1000) }, (_, i) => `line ${count - i}`);
    return { lines: all.toReversed().slice(-lines), last_number: count };
  };
  return { read, asked };
}

it('shows each line once, asks for few where few are new, and says where lines are missing', async () => {
  const written: { count: number | null } = { count: 150 };
  const { read, asked } = consoleOf(written);
  const news = followConsole(read, async () => {});
  const next = async (): Promise<ConsoleNews> => (await news.next()).value as ConsoleNews;
  const shown = async (): Promise<[number, boolean]> => {
    const one = await next();
    assert.ok(one.kind === 'lines');
    return [one.lines.length, one.isComplete];
  };
  assert.deepEqual(await shown(), [150, true]);
  assert.deepEqual(await shown(), [0, true]);
  written.count = 152;
  assert.deepEqual(await next(), {
    kind: 'lines',
    lines: ['line 151', 'line 152'],
    isComplete: true,
  });
  written.count = 700;
  assert.deepEqual(await shown(), [548, true]);
  written.count = null;
  assert.deepEqual(await next(), { kind: 'unknown' });
  written.count = 5_000;
  assert.deepEqual(await shown(), [1000, false]);
  assert.deepEqual(asked, [1000, 100, 100, 100, 1000, 100, 100, 1000]);
});
