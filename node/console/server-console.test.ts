import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { processorClock } from '@portcullis/core/testing/processor-clock.ts';
import { DoneMatcher, ServerConsole } from './server-console.ts';
import { encodeCommand } from '../server/instance-connection.ts';

describe('a console', () => {
  it('keeps the last lines as plain text without escape sequences', () => {
    const console = new ServerConsole(() => 0);
    console.push(
      Buffer.from('\x1b[33m[12:00] \x1b[1;31mwarn\x1b[0m\r\n\x1b]0;title\x07hello\x07\n'),
    );
    console.push(Buffer.from('tab\there \x9b31mred\u202e\n'));
    assert.deepEqual(console.last(10), ['[12:00] warn', 'hello', 'tab\there red']);
    assert.deepEqual(console.last(1), ['tab\there red']);
    assert.deepEqual(console.last(0), []);
    assert.deepEqual(console.lastColoured(3)[0], '\x1b[33m[12:00] \x1b[1;31mwarn\x1b[0m');
  });

  it('drops the excess of a flood, reports the amount, and keeps later lines', () => {
    let now = 0;
    const console = new ServerConsole(() => now);
    console.push(Buffer.from('flood\n'.repeat(100_000)));
    now = 100;
    console.push(Buffer.from('after\n'));
    assert.deepEqual(console.last(2), [
      '[portcullis] 98,000 lines were dropped: too many at once',
      'after',
    ]);
    console.push(Buffer.from('flood\n'.repeat(5000)));
    const [last] = console.last(1);
    assert.equal(last, '[portcullis] 3,001 lines were dropped: too many at once');
  });

  it('finds the done line in dropped and overwritten text, and reports it once', () => {
    const console = new ServerConsole(() => 0);
    let done = 0;
    const watch = (pattern: string): void => {
      const matcher = new DoneMatcher([{ kind: 'text', pattern }]);
      console.watchDone(matcher, () => (done += 1));
    };
    watch('ready');
    console.push(Buffer.from(`${'flood\n'.repeat(50_000)}\x1b[32mrea\x1b[0mdy\nready\n`));
    assert.equal(done, 1);
    watch('100%');
    console.push(Buffer.from('99%\r100%\rfinished\n'));
    assert.equal(done, 2);
  });

  it('keeps its memory bounded for 100,000 long lines and for an endless line', () => {
    const console = new ServerConsole(() => 0);
    const flood = Buffer.from(`${'x'.repeat(200)}\n`.repeat(100_000));
    const endless = Buffer.alloc(16 * 1024 * 1024, 'y');
    console.push(flood);
    const before = settledHeap();
    for (let turn = 0; turn < 5; turn += 1) {
      console.push(flood);
      console.push(endless);
    }
    assert.ok(settledHeap() - before < 4 * 1024 * 1024);
    assert.ok(console.last(100_000).length <= 1000);
    const kept = console.last(100_000).reduce((sum, line) => sum + 2 * line.length, 0);
    assert.ok(kept <= 256 * 1024);
  });
});

describe('a done pattern', () => {
  it('is matched as text and as a regular expression, and is reported if RE2 rejects it', () => {
    const matcher = new DoneMatcher([
      { kind: 'text', pattern: 'Done (' },
      { kind: 'regex', pattern: '^\\[\\d+:\\d+\\] ready$' },
      { kind: 'regex', pattern: '(?=look)' },
    ]);
    assert.equal(matcher.matches('[INFO] Done (3.2s)', 0), true);
    assert.equal(matcher.matches('[12:01] ready', 0), true);
    assert.equal(matcher.matches('[12:01] ready or not', 0), false);
    assert.deepEqual(matcher.problems, ['regex:(?=look) is not understood and never matches']);
  });

  it('never hangs on expressions that backtrack elsewhere', () => {
    for (const pattern of ['(a+)+$', '(a|aa)+$', '(.*)*x', '([a-z]+)*[0-9]', '(a{0,30}){0,30}b']) {
      const matcher = new DoneMatcher([{ kind: 'regex', pattern }]);
      assert.deepEqual(matcher.problems, []);
      const tookMs = processorClock();
      assert.equal(matcher.matches(`${'a'.repeat(8000)}!`, 0), false, pattern);
      assert.ok(tookMs() < 10_000, pattern);
    }
  });

  it('does not block the agent for hostile lines and a slow expression', () => {
    const matcher = new DoneMatcher([{ kind: 'regex', pattern: '(.*)(a|b)*c+(.*)d$' }]);
    const line = 'acbd'.repeat(2000).slice(0, -1);
    const tookMs = processorClock();
    for (let count = 0; count < 20_000; count += 1) matcher.matches(line, 0);
    assert.ok(tookMs() < 20_000);
  });
});

describe('a command', () => {
  it('is written as text with a line end, without control characters', () => {
    assert.deepEqual(encodeCommand('say grüße'), Buffer.from('say grüße\n'));
    for (const bad of ['', 'a\nb', 'a\r', '\u0003', 'a\0', '\x1b[A', '\u0085', '\u2028']) {
      assert.throws(() => encodeCommand(bad), RangeError);
    }
  });
});

const collect = collector();

function settledHeap(): number {
  collect();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}

function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
