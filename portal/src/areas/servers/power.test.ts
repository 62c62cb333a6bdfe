import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { POWER_TABLE } from '@portcullis/core/game-servers/power-table.ts';
import { type Powered, powerRefusal, SIGNALS } from './power.ts';

const SERVER: Powered = {
  state: 'running',
  isBuilt: true,
  isSuspended: false,
  isNodeConnected: true,
};
const enabled = (fields: Partial<Powered>) =>
  SIGNALS.filter((signal) => powerRefusal(signal, { ...SERVER, ...fields }) === null);

describe('the power buttons', () => {
  it('are enabled exactly where the node would do something', () => {
    for (const [state, row] of Object.entries(POWER_TABLE)) {
      const effective = SIGNALS.filter((signal) => !['nothing', 'refuse'].includes(row[signal]));
      assert.deepEqual(enabled({ state }), effective, state);
    }
    assert.deepEqual(enabled({ state: 'offline' }), ['start', 'restart']);
    assert.deepEqual(enabled({ state: 'paused' }), ['stop', 'restart', 'kill']);
  });

  it('say why not otherwise, in the words of the state', () => {
    assert.match(powerRefusal('start', SERVER) ?? '', /already running/);
    assert.match(powerRefusal('stop', { ...SERVER, state: 'offline' }) ?? '', /already offline/);
    assert.match(
      powerRefusal('start', { ...SERVER, state: 'stopping' }) ?? '',
      /once it is offline/,
    );
  });

  it('leave only kill where the state is unknown, and only stopping where it is suspended', () => {
    assert.deepEqual(enabled({ state: null }), ['kill']);
    assert.deepEqual(enabled({ state: 'of a later version' }), ['kill']);
    assert.deepEqual(enabled({ isSuspended: true }), ['stop', 'kill']);
    assert.deepEqual(enabled({ isNodeConnected: false, state: null }), []);
    assert.deepEqual(enabled({ isBuilt: false, state: null }), []);
  });
});
