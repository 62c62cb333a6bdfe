import { sql } from 'kysely';
import { type Actor, notifyAccess, recordAudits } from '../../../access/index.ts';
import type { Db, Tx } from '../../../db/database.ts';
import { constraintOf } from '../../../db/failure.ts';
import { Problem } from '../../../problem.ts';
import { Batch } from '../../../fleet/batch.ts';
import { adoptNamed } from './adopt.ts';
import { lockEverything } from '../../../db/locks.ts';
import { isKeptLast, keepAppliedFile } from './applied-files.ts';
import { saveEggs, sweepEggs } from '../../../game-servers/index.ts';
import { type CreatedFleetKey, PlanRun } from './plan-run.ts';
import { culpritOf, forgetStated } from '../../index.ts';
import type { FleetChange, FleetPlan } from '../plan/change.ts';
import type { FleetFile } from '../desired.ts';
import { type Mistake, renderMistake } from '../mistakes.ts';
import { planChanges, renderPlan } from '../plan/plan.ts';
import { type FleetState, loadFleetState } from '../state/state.ts';

export interface ApplyOptions {
  /** Also what would end protection, access or files (`--force`). */
  readonly allowLosses: boolean;
  /** The actor in the audit trail: kind `fleet`, name the file's path. */
  readonly actor: Actor;
  /** Hands objects to the file that it names and that were made by hand. */
  readonly adopt?: boolean;
  /** The plan that somebody agreed to (`renderPlan`); refused if it is something else by now. */
  readonly agreed?: string;
  /** Called as changes are applied, before the commit. */
  readonly onProgress?: (progress: ApplyProgress) => void;
}

/** Changes that are applied, of all that the plan has. */
export interface ApplyProgress {
  readonly done: number;
  readonly total: number;
}

interface PlanToApply extends Pick<ApplyOptions, 'onProgress'> {
  readonly file: FleetFile;
  readonly plan: FleetPlan;
  readonly state: FleetState;
}

export interface AppliedFleet {
  readonly changes: readonly FleetChange[];
  readonly notes: readonly string[];
  /** Keys generated because the file has no `secret` for them: print them, they are stored nowhere. */
  readonly createdKeys: readonly CreatedFleetKey[];
  /** Names of the file's edges and nodes, in its order. */
  readonly edges: readonly string[];
  readonly nodes: readonly string[];
  /** Null when nothing changed for edges. */
  readonly generation: number | null;
}

/** The file conflicts with the database; nothing was changed. */
export class FleetRefused extends Error {
  readonly plan: FleetPlan;

  constructor(plan: FleetPlan, reasons: readonly Mistake[], options?: ErrorOptions) {
    super(`The fleet file was not applied:\n${reasons.map(renderMistake).join('\n')}`, options);
    this.name = 'FleetRefused';
    this.plan = plan;
  }
}

/** The plan is not what was agreed to any more; nothing was changed. */
export class PlanChanged extends Error {
  override readonly name = 'PlanChanged';
}

/** Thrown to roll back a dry run. */
class DryRunDone extends Error {}

/**
 * Returns what applying the file would do. Applies it and rolls back, so that the plan's mistakes include
 * conflicts that only the database detects (a group's rule equal to a caller's, a limit).
 */
export async function planFleet(
  db: Db,
  file: FleetFile,
  { adopt = false }: Pick<ApplyOptions, 'adopt'> = {},
): Promise<FleetPlan> {
  let plan: FleetPlan | undefined;
  try {
    await db.transaction().execute(async (tx) => {
      const state = await loadLocked(tx, file, adopt);
      plan = planChanges(file, state);
      if (plan.mistakes.length === 0)
        await applyPlan(new Batch(tx, 'fleet'), { file, plan, state });
      throw new DryRunDone();
    });
  } catch (error) {
    if (error instanceof FleetRefused) return error.plan;
    if (!(error instanceof DryRunDone)) throw error;
  }
  if (plan === undefined) throw new Error('a dry run ended without a plan');
  return plan;
}

/**
 * Makes the database what the file says, in one transaction and one generation, under a lock. Idempotent.
 * Throws `FleetRefused`, with nothing changed, when the file cannot be applied.
 */
export async function applyFleet(
  db: Db,
  file: FleetFile,
  { allowLosses, actor, adopt = false, agreed, onProgress }: ApplyOptions,
): Promise<AppliedFleet> {
  return db.transaction().execute(async (tx) => {
    const state = await loadLocked(tx, file, adopt);
    const plan = planChanges(file, state);
    const reasons = [...plan.mistakes, ...(allowLosses ? [] : plan.losses)];
    if (reasons.length > 0) throw new FleetRefused(plan, reasons);
    if (agreed !== undefined && agreed !== renderPlan(plan)) throw new PlanChanged();
    const batch = new Batch(tx, 'fleet');
    const { createdKeys, organisations } = await applyPlan(batch, {
      file,
      plan,
      state,
      ...(onProgress && { onProgress }),
    });
    if (plan.changes.some(isOfServers)) await sweepEggs(tx);
    await forgetStated(tx, state.objects.server, file.objects.server);
    if (plan.changes.length > 0) await notifyAccess(tx);
    const generation = await batch.takeGeneration('fleet.apply');
    await auditChanges(tx, actor, plan.changes, organisations, generation);
    // What it adopts is no change, but an undo must not go back to before.
    const isNew = plan.changes.length > 0 || (adopt && !(await isKeptLast(tx, file)));
    if (isNew) await keepAppliedFile(tx, file);
    const edges = file.objects.edge.map(({ object }) => object.name);
    const nodes = file.objects.node.map(({ object }) => object.name);
    return { changes: plan.changes, notes: plan.notes, createdKeys, edges, nodes, generation };
  });
}

/** Serialises applies, and keeps other writers out until the end. */
async function loadLocked(tx: Tx, file: FleetFile, adopt: boolean): Promise<FleetState> {
  await lockEverything(tx);
  if (adopt) await adoptNamed(tx, file);
  return loadFleetState(tx, file.objects);
}

function isOfServers({ do: action }: FleetChange): boolean {
  return action.startsWith('server.');
}

/** Changes of one kind that are applied together. */
const MOST_TOGETHER = 5_000;

async function applyPlan(
  batch: Batch,
  { file, plan, state, onProgress = () => {} }: PlanToApply,
): Promise<PlanRun> {
  const run = new PlanRun(
    batch,
    state.objects.organisation.map(({ id, object }) => [object.slug, id] as const),
  );
  await run.prepare(plan.changes);
  if (plan.changes.some(isOfServers)) {
    await saveEggs(
      batch.tx,
      file.eggs.map(({ found }) => found),
    );
  }
  let done = 0;
  for (const changes of runsOf(plan.changes)) {
    await applyRun(batch.tx, run, plan, changes);
    done += changes.length;
    onProgress({ done, total: plan.changes.length });
  }
  return run;
}

/** When changes fail together for a reason that names none of them, they are tried one at a time to find it. */
async function applyRun(
  tx: Tx,
  run: PlanRun,
  plan: FleetPlan,
  changes: readonly FleetChange[],
): Promise<void> {
  if (changes.length > 1) await sql`savepoint together`.execute(tx);
  try {
    return await run.apply(changes);
  } catch (error) {
    const message = describeFailure(error);
    if (message === null) throw error;
    const culprit = culpritOf(error);
    const named = changes.find(({ object }) => object === culprit);
    const change = changes.length === 1 ? changes[0] : culprit && named;
    if (change !== undefined) {
      const { line, column } = change.at;
      const mistake = { file: plan.path, line, column, message: `${change.subject}: ${message}` };
      throw new FleetRefused({ ...plan, mistakes: [mistake] }, [mistake], { cause: error });
    }
  }
  await sql`rollback to savepoint together`.execute(tx);
  for (const change of changes) await applyRun(tx, run, plan, [change]);
}

function runsOf(changes: readonly FleetChange[]): FleetChange[][] {
  const runs: FleetChange[][] = [];
  for (const change of changes) {
    const last = runs.at(-1);
    const joins = last?.[0]?.do === change.do && last.length < MOST_TOGETHER;
    if (joins) last.push(change);
    else runs.push([change]);
  }
  return runs;
}

/** Describes a conflict that only the database detects. Returns null for any other failure. */
function describeFailure(error: unknown): string | null {
  if (constraintOf(error) === 'holdings_one_holder') {
    return 'Another organisation was given it at the same time: look at the plan again.';
  }
  if (!(error instanceof Problem)) return null;
  const details = error.errors.map(({ detail }) => detail).join('; ');
  return details === '' ? error.detail : `${error.detail} (${details})`;
}

/** Writes one audit row per change. */
async function auditChanges(
  tx: Tx,
  actor: Actor,
  changes: readonly FleetChange[],
  organisations: ReadonlyMap<string, number>,
  generation: number | null,
): Promise<void> {
  const entries = changes.map((change) => ({
    organisationId: organisations.get(change.organisation ?? '') ?? null,
    action: change.do,
    target: change.subject,
    detail: { words: change.words },
    generation,
  }));
  await recordAudits(tx, actor, entries);
}
