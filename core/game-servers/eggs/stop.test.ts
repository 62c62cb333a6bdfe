import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseStop } from './stop.ts';

describe('the stop configuration of an egg', () => {
  const signals = {
    '^C': 'SIGINT',
    '^c': 'SIGINT',
    '^^C': 'SIGINT',
    '^\\': 'SIGQUIT',
    '^SIGINT': 'SIGINT',
    '^sigterm': 'SIGTERM',
    '^TERM': 'SIGTERM',
    '^SIGQUIT': 'SIGQUIT',
    '^SIGHUP': 'SIGHUP',
    '^SIGABRT': 'SIGABRT',
    ' ^SIGKILL\r\n': 'SIGKILL',
  };
  for (const [text, signal] of Object.entries(signals)) {
    it(`${JSON.stringify(text)} means ${signal}`, () => {
      assert.deepEqual(parseStop(text), {
        ok: true,
        value: { stop: { kind: 'signal', signal }, note: null },
      });
    });
  }

  it('means SIGKILL only if it names that, and unknown texts mean SIGTERM with a note', () => {
    for (const text of ['^D', '^X', '^', '^SIGSTOP', '^SIG', '^toString', '', '  ']) {
      const stop = parseStop(text);
      assert.deepEqual(stop.ok && stop.value.stop, { kind: 'signal', signal: 'SIGTERM' }, text);
      assert.ok(stop.ok && stop.value.note !== null);
    }
  });

  it('accepts a command of one line without control characters', () => {
    const stop = parseStop(' /shutdown now ');
    assert.deepEqual(stop.ok && stop.value.stop, { kind: 'command', command: '/shutdown now' });
    for (const text of ['a\nb', 'a\u0003', 'a\u2028b', 'x'.repeat(2049)]) {
      assert.equal(parseStop(text).ok, false);
    }
  });
});
