import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readEarlyDrop, readEarlyDropCapacity } from './config.ts';
import { createLineLog, readLogLevel } from '@portcullis/agent/log.ts';

const CONFIG = { name: 'fra1', linkPath: '/dev/null/no.sock', stateDir: '/dev/null/edge' };

describe('the process of an edge', () => {
  it('reports in one line why it cannot start', () => {
    const cases: readonly [config: string, level: string, line: RegExp][] = [
      [
        JSON.stringify(CONFIG),
        'warn',
        /the state directory \/dev\/null\/edge cannot be used: ENOTDIR/,
      ],
      [
        JSON.stringify({ ...CONFIG, name: '' }),
        'warn',
        /the configuration is invalid: \/name is not a non-empty string/,
      ],
      [JSON.stringify(CONFIG), 'loud', /PORTCULLIS_LOG_LEVEL: "loud" is none of trace, debug/],
    ];
    for (const [config, level, line] of cases) {
      const env = { ...process.env, PORTCULLIS_EDGE_CONFIG: config, PORTCULLIS_LOG_LEVEL: level };
      const { status, stderr } = spawnSync(
        process.execPath,
        [join(import.meta.dirname, 'main.ts')],
        { env, encoding: 'utf8' },
      );
      assert.equal(status, 1);
      assert.match(stderr, line);
      assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
    }
  });

  it('attaches the early drop unless configured otherwise', () => {
    assert.equal(readEarlyDrop({}), 'on');
    assert.equal(readEarlyDrop({ PORTCULLIS_EARLY_DROP: 'on' }), 'on');
    assert.equal(readEarlyDrop({ PORTCULLIS_EARLY_DROP: 'off' }), 'off');
    assert.throws(
      () => readEarlyDrop({ PORTCULLIS_EARLY_DROP: 'no' }),
      /"no" is neither on nor off/,
    );
  });

  it('limits the addresses of the early drop as configured, by default to all', () => {
    assert.equal(readEarlyDropCapacity({}), Infinity);
    assert.equal(readEarlyDropCapacity({ PORTCULLIS_EARLY_DROP_ROOM: ' 5000 ' }), 5000);
    for (const text of ['0', '-1', '1.5', 'many', '10000000000']) {
      assert.throws(
        () => readEarlyDropCapacity({ PORTCULLIS_EARLY_DROP_ROOM: text }),
        /is not a number of addresses/,
      );
    }
  });

  it('logs its configured level and nothing below', () => {
    const written = (level: string): string[] => {
      const lines: string[] = [];
      const log = createLineLog(
        'edge',
        (line) => lines.push((JSON.parse(line) as { readonly msg: string }).msg),
        readLogLevel({ PORTCULLIS_LOG_LEVEL: level }),
      );
      for (const one of ['debug', 'info', 'warn', 'error'] as const) log[one]({}, one);
      return lines;
    };
    assert.deepEqual(written('trace'), ['debug', 'info', 'warn', 'error']);
    assert.deepEqual(written(''), ['info', 'warn', 'error']);
    assert.deepEqual(written('warn'), ['warn', 'error']);
    assert.deepEqual(written('silent'), []);
  });
});
