import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  describeAction,
  describeActor,
  differenceOf,
  differenceOfRestore,
  type HistoryEntry,
} from './history-words.ts';

function entry(generation: number, ...objects: HistoryEntry['objects']): HistoryEntry {
  const at = '2026-01-01T00:00:00+00:00';
  const actor = { actor_kind: 'key', actor: 'lab' };
  return { generation, at, ...actor, action: 'rule.create', objects, can_undo: true };
}
const rule = (change: 'added' | 'removed', id: number, name: string) =>
  ({ kind: 'rule', change, id, name }) as const;

describe('the history of an address', () => {
  it('says who did what, also with words that it does not know', () => {
    const one = entry(1, rule('added', 1, 'deny udp 19'));
    assert.deepEqual(
      [describeActor(one), describeAction(one), differenceOf(one).added],
      ['API key lab', 'Rules added', ['deny udp 19']],
    );
    const new_ = { ...one, action: 'rule.paint', actor_kind: 'robot' };
    assert.deepEqual([describeActor(new_), describeAction(new_)], ['lab', 'rule.paint']);
  });

  it('shows before going back what that creates and deletes, and nothing that came and went since', () => {
    const newer = [
      entry(9, rule('removed', 3, 'allow tcp 1'), rule('removed', 1, 'deny udp 19')),
      entry(8, rule('added', 3, 'allow tcp 1'), rule('added', 4, 'allow tcp 2')),
      entry(7, { kind: 'group_rule', change: 'added', id: 4, name: 'deny tcp 3' }),
    ];
    assert.deepEqual(differenceOfRestore(newer), {
      added: ['deny udp 19'],
      removed: ['allow tcp 2'],
    });
  });
});
