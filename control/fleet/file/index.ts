export { type AppliedFleet, applyFleet, FleetRefused, planFleet } from './apply.ts';
export type { CreatedFleetKey } from './apply-steps.ts';
export type { FleetChange, FleetPlan } from './change.ts';
export type { FleetFile } from './desired.ts';
export { type Mistake, renderMistake } from './mistakes.ts';
export { type FleetFileResult, parseFleet } from './parse.ts';
export { renderPlan } from './plan.ts';
export { readFleetFile } from './read.ts';
