export { createOperatorHandlers } from './api/index.ts';
export {
  applyChanges,
  type Elsewhere,
  loadElsewhere,
  loadNow,
  loadObjects,
  prepareChanges,
} from './apply.ts';
export { culpritOf } from './culprit.ts';
export { operate, removeByHand, saveByHand, saveDeclared } from './by-hand.ts';
export { changeForPeople, isOfFile } from './by-people.ts';
export { type DeclaredObjects, readObjects } from './file/objects.ts';
export {
  SecretVariable,
  type WrittenObjects,
  type WrittenPlace,
  writeObjects,
} from './file/write.ts';
export { FORMS, parseMoment, sentence } from './forms.ts';
export {
  type Current,
  type EggLibrary,
  type Kind,
  type Made,
  NOTHING_OUTSIDE,
  type Outside,
} from './kind.ts';
export { kindNamed, type KindName, KINDS, type StoredObjects } from './kinds.ts';
export { HoldingIndex } from './holding-index.ts';
export {
  type Declared,
  type ObjectChange,
  planKind,
  planRemovals,
  type PlanSink,
  sameValue,
} from './plan.ts';
export { server } from './kinds/game-server.ts';
export { compareEgg } from './library/compare.ts';
export { findEgg, type LibraryEntry, listLibrary } from './library/eggs.ts';
export { findPlaces, type ServerPlace } from './places.ts';
export { settingsOf, withSettings } from './people-settings.ts';
export { forgetStated, PRIMARY, type StoredServer } from './kinds/server-table.ts';
