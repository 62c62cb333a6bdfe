import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FOLLOWED, staleQueries } from './stale-queries.ts';

const keysOf = (kind: string, target = 't') => staleQueries({ kind, target });

it('reads again what an event concerns, and everything after a gap', () => {
  assert.deepEqual(keysOf('server.state'), [['servers'], ['server', 't']]);
  assert.deepEqual(keysOf('attack.opened'), [['attacks'], ['attack']]);
  const ip = '203.0.113.10';
  assert.deepEqual(keysOf('write.live', ip), [['addresses'], ['address', ip], ['history', ip]]);
  assert.ok(keysOf('write.live', 'group:3').some((key) => key.join() === 'address'));
  const kinds = ['server.state', 'attack.opened', 'write.live', 'propagation.failed'];
  const named = kinds.flatMap((kind) => [...keysOf(kind), ...keysOf(kind, ip)]);
  assert.deepEqual(new Set(named.map(([first]) => first)), FOLLOWED);
  assert.deepEqual(keysOf('gap'), [[]]);
  assert.deepEqual(keysOf('of.a.later.version'), []);
});
