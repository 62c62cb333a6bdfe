import type { History } from '@portcullis/client/index.ts';
import { historyMessages } from '../../../messages/address-history.ts';

export type HistoryEntry = History['data'][number];
type HistoryObject = HistoryEntry['objects'][number];

const text = historyMessages;

export function describeAction({ action }: HistoryEntry): string {
  return action in text.change ? text.change[action as keyof typeof text.change] : action;
}

export function describeActor({ actor_kind: kind, actor }: HistoryEntry): string {
  return kind in text.actor ? text.actor[kind as keyof typeof text.actor](actor) : actor;
}

function describeObject({ kind, name }: HistoryObject): string {
  return kind in text.object ? text.object[kind as keyof typeof text.object](name) : name;
}

export interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** The difference of a change, in words. */
export function differenceOf({ objects }: HistoryEntry): Difference {
  const of = (change: 'added' | 'removed') =>
    objects.filter((each) => each.change === change).map(describeObject);
  return { added: of('added'), removed: of('removed') };
}

/**
 * The difference of going back to right after a generation: own rules and filters that were created since go, those
 * that were deleted since come back. `newer` are the changes since, in any order. An object is created and deleted at
 * most once.
 */
export function differenceOfRestore(newer: readonly HistoryEntry[]): Difference {
  const own = newer
    .flatMap(({ objects }) => objects)
    .filter(({ kind }) => kind === 'rule' || kind === 'filter');
  const idOf = ({ kind, id }: HistoryObject) => `${kind} ${id}`;
  const ids = (change: 'added' | 'removed') =>
    new Set(own.filter((each) => each.change === change).map(idOf));
  const created = ids('added');
  const deleted = ids('removed');
  const named = (change: 'added' | 'removed', other: ReadonlySet<string>) =>
    own.filter((each) => each.change === change && !other.has(idOf(each))).map(({ name }) => name);
  return { added: named('removed', created), removed: named('added', deleted) };
}
