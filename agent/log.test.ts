import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLineLog } from './log.ts';

test('a log line is one JSON object, and words on a terminal, where no field can control it', () => {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const fields = { error: new Error('EPERM: setsockopt'), device: 'eth0\u001b[2J', times: 2 };
  createLineLog('edge', write).warn(fields, 'it failed');
  createLineLog('edge', write, 'info', true).warn(fields, 'it failed');
  const { level, error, msg } = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
  assert.deepEqual([level, error, msg], ['warn', 'EPERM: setsockopt', 'it failed']);
  const words = 'edge: it failed (error: EPERM: setsockopt, device: eth0 [2J, times: 2)\n';
  assert.equal(lines[1], words);
});
