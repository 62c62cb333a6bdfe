import { type Declared, kindNamed, KINDS, planKind, type PlanSink } from '../../operator/index.ts';
import type { Position } from '../mistakes.ts';
import type { ObjectAction } from './change.ts';
import { PlanDraft } from './draft.ts';

const VERBS = { '+': 'create', '~': 'update', '-': 'delete' } as const;

/** Plans the changes of every kind of object. */
export function planObjects(draft: PlanDraft): void {
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
  const slugs = new Set(draft.organisations.map(({ slug }) => slug));
  for (const { name } of KINDS) {
    const kind = kindNamed(name);
    if (kind === undefined) continue;
    // Organisations that were made by hand are refused once, with all that they have.
    const declared: readonly Declared<object, Position>[] = draft.file.objects[name];
    const wanted = declared.filter(({ object }) => {
      const slug = kind.organisation?.(object);
      return slug === undefined || slugs.has(slug);
    });
    planKind(kind, wanted, draft.state.objects[name], sink);
  }
}
