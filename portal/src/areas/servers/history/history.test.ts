import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Attack } from '@portcullis/client/index.ts';
import { fillMinutes } from '../../../components/figures/fill-minutes.ts';
import { timelineOf } from './timeline.ts';

const at = (time: string) => `2026-11-21T${time}+00:00`;
const META = { from: at('00:00:00'), to: at('10:00:00') };
const event = (time: string, kind: string, state: string | null, from: string | null = null) => ({
  at: at(time),
  kind,
  state,
  from,
});
const attack = (started: string, ended: string | null) =>
  ({ started_at: started, ended_at: ended }) as Attack;

describe('the last day of a server', () => {
  it('leaves out minutes without a sample rather than draw a line over them', () => {
    const { times, samples } = fillMinutes(
      [{ at: at('02:01:00') }],
      at('02:00:30'),
      at('02:02:10'),
    );
    assert.equal(times.length, 3);
    assert.deepEqual(
      samples.map((sample) => sample?.at),
      [undefined, at('02:01:00'), undefined],
    );
  });

  it('puts states, crashes and attacks on one scale', () => {
    const events = [
      event('02:00:00', 'server.state', 'starting', 'offline'),
      event('05:00:00', 'server.crashed', 'offline'),
      event('05:00:00', 'server.state', 'offline', 'starting'),
    ];
    const attacks = [
      attack('2026-11-20T20:00:00+00:00', at('01:00:00')),
      attack(at('09:00:00'), null),
    ];
    const line = timelineOf({ data: { samples: [], events }, meta: META }, attacks);
    assert.deepEqual(line.states, [
      { left: 0, width: 0.2, state: 'offline' },
      { left: 0.2, width: 0.3, state: 'starting' },
      { left: 0.5, width: 0.5, state: 'offline' },
    ]);
    assert.deepEqual(line.crashes, [0.5]);
    assert.equal(line.attacks[0]?.left, 0);
    assert.ok(Math.abs((line.attacks[1]?.width ?? 0) - 0.1) < 1e-9);
    assert.deepEqual(
      line.happenings.map(({ kind }) => kind),
      ['attack', 'crash', 'state', 'state', 'attack'],
    );
  });

  it('claims no state where nothing is known', () => {
    const { states } = timelineOf({ data: { samples: [], events: [] }, meta: META }, []);
    assert.deepEqual(states, [{ left: 0, width: 1, state: null }]);
  });
});
