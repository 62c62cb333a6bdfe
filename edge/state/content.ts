import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { edgeAssignment } from '@portcullis/link/messages/edge.ts';
import { network, version } from '@portcullis/link/messages/values.ts';
import { policies, targets } from '@portcullis/link/messages/policy.ts';
import {
  array,
  boolean,
  check,
  kinds,
  natural,
  nullable,
  object,
  type Static,
} from '@portcullis/link/messages/schema.ts';
import { changedKeys } from '@portcullis/dataplane/compile/changed-keys.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { CHAIN_START, frame, type Frames, type Mark, unframe } from './frames.ts';

/**
 * A desired state as records: `begin`, its policies in parts, then changes. A change is read whole or not at all.
 * Source sets are large and rarely change, so they have a file of their own, named by their version.
 */
const FORMAT = 1;
const POLICIES_PER_RECORD = 200;
const TARGETS_PER_RECORD = 10_000;

const behind = array(object({ target: network, generation: natural }), 1_000_000);
const SCHEMAS = kinds({
  begin: {
    format: natural,
    generation: natural,
    behind,
    settings: edgeAssignment,
    /** The version of the source sets. */
    sets: nullable(version),
    /** The number of policies in the following records. */
    policies: natural,
  },
  policies: { policies },
  /** Fields that did not change are null. */
  change: {
    generation: natural,
    behind: nullable(behind),
    settings: nullable(edgeAssignment),
    sets: nullable(version),
    policies,
    removed: targets,
    /** More records belong to this change. */
    more: boolean,
  },
});
type Behind = Static<typeof behind>[number];
type Begin = Static<typeof SCHEMAS.begin>;
type Part = Static<typeof SCHEMAS.policies>;
type Change = Static<typeof SCHEMAS.change>;
type StateRecord = Begin | Part | Change;

/** Writes a whole state, in pieces of about 1 ms each. */
export function* writeWhole(desired: Desired): Generator<Frames> {
  const { generation, settings, sourceSets } = desired;
  const begin: Begin = {
    kind: 'begin',
    format: FORMAT,
    generation,
    behind: outdatedOf(desired),
    settings,
    sets: sourceSets.version || null,
    policies: desired.policies.size,
  };
  let frames = frame(CHAIN_START, begin);
  yield frames;
  for (const part of parts([...desired.policies.values()], POLICIES_PER_RECORD)) {
    frames = frame(frames.chain, { kind: 'policies', policies: part } satisfies Part);
    yield frames;
  }
}

/** Writes the change from `before` to `after`; nothing if they are equal. Compares policies by identity. */
export function* writeChange(before: Desired, after: Desired, chain: string): Generator<Frames> {
  if (before === after) return;
  const names = changedKeys(before.policies, after.policies);
  const changed = names.flatMap((target) => after.policies.get(target) ?? []);
  const removed = names.filter((target) => !after.policies.has(target));
  const settings = sameJson(before.settings, after.settings) ? null : after.settings;
  const sameSets = before.sourceSets.version === after.sourceSets.version;
  const sets = sameSets ? null : after.sourceSets.version || null;
  const { generation } = after;
  const outdated = sameJson(outdatedOf(before), outdatedOf(after)) ? null : outdatedOf(after);
  const same = settings === null && sets === null && outdated === null;
  if (same && names.length === 0 && generation === before.generation) return;
  const nothing = { settings: null, sets: null, behind: null, policies: [], removed: [] };
  const pieces: Omit<Change, 'kind' | 'generation' | 'more'>[] = [
    ...[...parts(removed, TARGETS_PER_RECORD)].map((some) => ({ ...nothing, removed: some })),
    ...[...parts(changed, POLICIES_PER_RECORD)].map((some) => ({ ...nothing, policies: some })),
  ];
  const first = { ...(pieces.shift() ?? nothing), settings, sets, behind: outdated };
  let last = chain;
  for (const [index, piece] of [first, ...pieces].entries()) {
    const more = index < pieces.length;
    const frames = frame(last, { kind: 'change', generation, ...piece, more } satisfies Change);
    yield frames;
    last = frames.chain;
  }
}

export interface Read {
  readonly desired: Desired;
  /** The position for the next change. */
  readonly mark: Mark;
  /** The versions of source sets that these bytes name. */
  readonly sets: readonly string[];
}
export type ReadResult =
  | { readonly ok: true; readonly value: Read; readonly damaged: boolean }
  | { readonly ok: false; readonly reason: string };

/**
 * The newest complete state in these bytes. `loadSets` returns the source sets of a version, or null if they are
 * unavailable; states that need them are then incomplete.
 */
export function readState(
  bytes: Buffer,
  loadSets: (version: string) => SourceSets | null,
): ReadResult {
  const { records, marks, damaged } = unframe(bytes);
  const head = check(object({ format: natural }), records[0]);
  if (!head.ok) return { ok: false, reason: 'it is damaged' };
  const { format } = head.value;
  if (format !== FORMAT) return { ok: false, reason: `its format is ${format}, not ${FORMAT}` };
  const reading = new Reading(loadSets);
  let mark: Mark | null = null;
  let reason: string | null = null;
  for (const [index, value] of records.entries()) {
    reason = reading.take(value);
    if (reason !== null) break;
    if (reading.isWhole) mark = marks[index] ?? null;
  }
  const desired = reading.whole;
  if (desired === null || mark === null) return { ok: false, reason: reason ?? 'it is damaged' };
  return {
    ok: true,
    value: { desired, mark, sets: [...reading.sets] },
    damaged: damaged || mark !== marks.at(-1),
  };
}

/** The policies read so far, and the last complete state. */
class Reading {
  readonly #loadSets: (version: string) => SourceSets | null;
  readonly sets = new Set<string>();
  #whole: Desired | null = null;
  #begin: Begin | null = null;
  #policies = new Map<string, Policy>();
  #pending: Change[] = [];

  constructor(loadSets: (version: string) => SourceSets | null) {
    this.#loadSets = loadSets;
  }

  /** The last complete state. Its policies include all records read, so read it only at the end. */
  get whole(): Desired | null {
    return this.#whole === null ? null : { ...this.#whole, policies: this.#policies };
  }

  get isWhole(): boolean {
    return this.#whole !== null && this.#pending.length === 0;
  }

  /** Returns the error of the record, or null. */
  take(value: unknown): string | null {
    const record = parseRecord(value);
    if (typeof record === 'string') return record;
    if (record.kind === 'begin') return this.#take(record);
    if (record.kind === 'policies') return this.#fill(record);
    this.#pending.push(record);
    return record.more ? null : this.#change();
  }

  #take(begin: Begin): string | null {
    if (this.#begin !== null) return 'it begins twice';
    this.#begin = begin;
    return this.#fill({ kind: 'policies', policies: [] });
  }

  #fill({ policies: part }: Part): string | null {
    if (this.#begin === null || this.#whole !== null) return 'it has policies out of their place';
    for (const policy of part) this.#policies.set(policy.target, policy);
    const { generation, settings, sets, policies: wanted } = this.#begin;
    if (this.#policies.size < wanted) return null;
    const sourceSets = this.#setsOf(sets);
    if (sourceSets === null) return `its source sets ${sets} are not there`;
    const desired = { generation, settings, sourceSets, policies: this.#policies };
    this.#whole = withOutdated(desired, this.#begin.behind);
    return null;
  }

  #change(): string | null {
    const before = this.#whole;
    if (before === null) return 'it has a change out of its place';
    const newest = this.#pending.findLast(({ sets }) => sets !== null)?.sets ?? null;
    const sourceSets = newest === null ? before.sourceSets : this.#setsOf(newest);
    if (sourceSets === null) return `its source sets ${newest} are not there`;
    let { settings, generation } = before;
    let outdated = outdatedOf(before);
    for (const change of this.#pending.splice(0)) {
      for (const target of change.removed) this.#policies.delete(target);
      for (const policy of change.policies) this.#policies.set(policy.target, policy);
      settings = change.settings ?? settings;
      outdated = change.behind ?? outdated;
      ({ generation } = change);
    }
    const desired = { generation, settings, sourceSets, policies: this.#policies };
    this.#whole = withOutdated(desired, outdated);
    return null;
  }

  #setsOf(name: string | null): SourceSets | null {
    if (name === null) return { version: '', sets: {} };
    this.sets.add(name);
    return this.#loadSets(name);
  }
}

function parseRecord(value: unknown): StateRecord | string {
  const kind = (value as { readonly kind?: unknown } | null)?.kind;
  if (kind !== 'begin' && kind !== 'policies' && kind !== 'change') {
    return 'it holds what this version does not know';
  }
  const checked = check<StateRecord>(SCHEMAS[kind], value);
  return checked.ok ? checked.value : checked.reason;
}

function outdatedOf(desired: Desired): readonly Behind[] {
  return [...(desired.behind ?? [])].map(([target, generation]) => ({ target, generation }));
}

function withOutdated(desired: Desired, all: readonly Behind[]): Desired {
  if (all.length === 0) return desired;
  return {
    ...desired,
    behind: new Map(all.map(({ target, generation }) => [target, generation])),
  };
}

function sameJson(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** Splits a list into pieces of at most `size`. */
export function* parts<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
