export { createOperatorHandlers } from './api/index.ts';
export { applyChanges, loadObjects } from './apply.ts';
export { operate, saveByHand, saveDeclared } from './by-hand.ts';
export { type DeclaredObjects, readObjects } from './file/objects.ts';
export { FORMS, parseMoment, sentence, showCidr } from './forms.ts';
export type { Kind } from './kind.ts';
export { kindNamed, type KindName, KINDS, type StoredObjects } from './kinds.ts';
export { type Declared, type ObjectChange, planKind, type PlanSink } from './plan.ts';
