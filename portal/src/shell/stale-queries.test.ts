import assert from 'node:assert/strict';
import { it } from 'node:test';
import { staleQueries } from './stale-queries.ts';

const keysOf = (kind: string) => staleQueries({ kind, target: 't' });

it('reads again what an event concerns, and everything after a gap', () => {
  assert.deepEqual(keysOf('server.state'), [['servers'], ['server', 't']]);
  assert.deepEqual(keysOf('attack.opened'), [['attacks'], ['attack']]);
  assert.deepEqual(keysOf('write.live'), [['addresses'], ['address', 't']]);
  assert.deepEqual(keysOf('gap'), [[]]);
  assert.deepEqual(keysOf('of.a.later.version'), []);
});
