import assert from 'node:assert/strict';
import { it } from 'node:test';
import { dropWindow } from './drop-window.ts';

it('covers the whole minutes of an attack, of the day that drops are kept', () => {
  const now = Date.parse('2026-11-21T12:00:30Z');
  const of = (started_at: string, ended_at: string | null) =>
    dropWindow({ started_at, ended_at }, now);
  assert.deepEqual(of('2026-11-21T11:10:20Z', '2026-11-21T11:12:40Z'), {
    from: '2026-11-21T11:10:00.000Z',
    to: '2026-11-21T11:13:00.000Z',
  });
  assert.deepEqual(of('2026-11-19T00:00:00Z', null), {
    from: '2026-11-20T12:01:00.000Z',
    to: '2026-11-21T12:00:30.000Z',
  });
  assert.equal(of('2026-11-19T00:00:00Z', '2026-11-19T01:00:00Z'), null);
});
