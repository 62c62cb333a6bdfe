import {
  type Declared,
  HoldingIndex,
  type Kind,
  kindNamed,
  type KindName,
  KINDS,
  planKind,
  planRemovals,
  type PlanSink,
} from '../../index.ts';
import type { Position } from '../mistakes.ts';
import type { ObjectAction } from './change.ts';
import { PlanDraft } from './draft.ts';

const VERBS = { '+': 'create', '~': 'update', '-': 'delete' } as const;

/** Plans the changes of every kind of object. */
export function planObjects(draft: PlanDraft): void {
  const { objects, now } = draft.state;
  const held = draft.file.objects.holding.map(({ object }) => object);
  const holdings = new HoldingIndex(held, objects.holding, now);
  const sink: PlanSink<Position> = {
    add(change, at) {
      const action = `${change.kind}.${VERBS[change.sign]}` as ObjectAction;
      const object = change.object ?? change.before?.object ?? {};
      const organisation = kindNamed(change.kind)?.organisation?.(object) ?? null;
      draft.add({ ...change, do: action, organisation }, at ?? PlanDraft.fileStart);
    },
    refuse: (at, message) => draft.refuse(at ?? PlanDraft.fileStart, message),
    refusePortal: (at, subject) => draft.refusePortal(at, subject),
    lose: (at, message) => draft.lose(at ?? PlanDraft.fileStart, message),
    note: (message) => draft.note(message),
  };
  const slugs = new Set(draft.organisations.map(({ object }) => object.slug));
  const planned = (KINDS as readonly Kind[]).map((kind) => {
    const name = kind.name as KindName;
    const declared: readonly Declared<object, Position>[] = draft.file.objects[name];
    // Organisations that were made by hand are refused once, with all that they have.
    const wanted = declared.filter(({ object }) => {
      const slug = kind.organisation?.(object) ?? null;
      return slug === null || slugs.has(slug);
    });
    const elsewhere = draft.state.elsewhere.get(name) ?? new Map<string, string[]>();
    const stored = { rows: objects[name], elsewhere, now: draft.state.now, holdings };
    return { kind, isLast: wanted.length === 0, ...planKind(kind, wanted, stored, sink) };
  });
  const named = new Set(planned.flatMap(({ kind, remaining }) => namesIn(kind, remaining)));
  for (const { kind, isLast, left } of planned) {
    const isNamed = ({ object }: { readonly object: object }): boolean =>
      named.has(`${kind.name} ${kind.key(object)}`);
    planRemovals(kind, left, { isLast, isNamed }, sink);
  }
}

/** The kinds and keys that objects refer to. */
function namesIn(kind: Kind, objects: readonly object[]): string[] {
  return kind.refersTo.flatMap((reference) =>
    objects.flatMap((object) => {
      const key = reference.key(object);
      return key === null ? [] : [`${reference.kind} ${key}`];
    }),
  );
}
