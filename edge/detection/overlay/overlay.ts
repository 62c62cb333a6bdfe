import {
  keyOf,
  type MitigationAction,
  renderAction,
} from '@portcullis/core/attacks/mitigation/actions.ts';
import type { MitigationMode } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Mitigation, Policy } from '@portcullis/core/firewall/policy.ts';

/** The autonomous mitigations of one attack. */
export interface OverlayEntry {
  /** The attacked address, or the prefix with every address in it. */
  readonly subject: string;
  readonly actions: readonly MitigationAction[];
  readonly mode: Mitigation['mode'];
  /** Sources that are never dropped. */
  readonly safelist: readonly string[];
  /** In the time of a `MachineClock`. */
  readonly expiresMs: number;
}

/** The operator's settings for the subject. */
export interface OverlayScope {
  readonly mitigation: MitigationMode;
  readonly safelist: readonly string[];
}

/** The part of the subject's policy that control wrote. */
export type ControlPolicy = Pick<Policy, 'mitigations' | 'filters'>;

export interface OverlayFacts {
  readonly nowMs: number;
  /** How long control has been answering without a break. Null while it is away. */
  readonly controlMs: number | null;
  /** The detector's ongoing attacks with the planned actions of each. */
  readonly attacks: ReadonlyMap<string, readonly MitigationAction[]>;
  /** Subjects whose attacks ended since the last step. */
  readonly ended: ReadonlySet<string>;
  /** Subjects that must not be mitigated. */
  readonly cancelled: ReadonlySet<string>;
  /** Null without settings: then nothing is mitigated. */
  readonly scopeOf: (subject: string) => OverlayScope | null;
  readonly controlPolicyOf: (subject: string) => ControlPolicy | null;
}

/** The time to live since the last renewal: a dead agent leaves mitigations for no longer. */
export const OVERLAY_TTL_MS = 600_000;
/**
 * The time to hand over: what control has not mitigated itself by this time after its return, it does not want
 * mitigated.
 */
const HANDOVER_MS = 15_000;
const MAX_ENTRIES = 256;

/** Returns the same array if nothing changes. */
export function stepOverlay(
  before: readonly OverlayEntry[],
  facts: OverlayFacts,
): readonly OverlayEntry[] {
  const kept = before.flatMap((entry) => stepEntry(entry, facts) ?? []);
  const known = new Set(before.map(({ subject }) => subject));
  const added = [...facts.attacks]
    .filter(([subject]) => !known.has(subject))
    .flatMap(([subject, wanted]) => createEntry(subject, wanted, facts) ?? [])
    .slice(0, Math.max(0, MAX_ENTRIES - kept.length));
  const isSame =
    added.length === 0 &&
    kept.length === before.length &&
    kept.every((entry, index) => entry === before[index]);
  return isSame ? before : [...kept, ...added];
}

/** Equal for entries with the same effect. */
export function keyOfEntry({ subject, actions, mode, safelist }: OverlayEntry): string {
  return keyOf({ subject, actions, mode, safelist });
}

/** Returns null if the entry is withdrawn. */
function stepEntry(entry: OverlayEntry, facts: OverlayFacts): OverlayEntry | null {
  const { subject, expiresMs } = entry;
  const { nowMs, controlMs } = facts;
  if (expiresMs <= nowMs || facts.ended.has(subject) || facts.cancelled.has(subject)) return null;
  const wanted = controlMs === null ? facts.attacks.get(subject) : undefined;
  if (wanted === undefined) {
    const isTaken = controlMs !== null && isTakenOver(subject, controlMs, facts);
    return isTaken ? null : withSettings(entry, facts);
  }
  const renewed = createEntry(subject, wanted, facts);
  if (renewed === null) return null;
  const isDue = expiresMs - nowMs < OVERLAY_TTL_MS / 2;
  if (keyOfEntry(renewed) !== keyOfEntry(entry)) return renewed;
  return isDue ? { ...entry, expiresMs: renewed.expiresMs } : entry;
}

/** Control mitigates the subject itself, or had the time to decide not to. */
function isTakenOver(
  subject: string,
  controlMs: number,
  { controlPolicyOf }: OverlayFacts,
): boolean {
  return controlMs >= HANDOVER_MS || (controlPolicyOf(subject)?.mitigations.length ?? 0) > 0;
}

function createEntry(
  subject: string,
  wanted: readonly MitigationAction[],
  { nowMs, controlMs, cancelled, scopeOf, controlPolicyOf }: OverlayFacts,
): OverlayEntry | null {
  const scope = scopeOf(subject);
  const mode = modeOf(scope);
  if (controlMs !== null || scope === null || mode === null || cancelled.has(subject)) return null;
  const there = controlPolicyOf(subject);
  const actions = wanted.filter((action) => there === null || !isDone(action, there, scope));
  if (actions.length === 0) return null;
  const { safelist } = scope;
  return { subject, actions, mode, safelist, expiresMs: nowMs + OVERLAY_TTL_MS };
}

/** Applies the operator's present settings. */
function withSettings(entry: OverlayEntry, { scopeOf }: OverlayFacts): OverlayEntry | null {
  const scope = scopeOf(entry.subject);
  const mode = modeOf(scope);
  if (scope === null || mode === null) return null;
  const next = { ...entry, mode, safelist: scope.safelist };
  return keyOfEntry(next) === keyOfEntry(entry) ? entry : next;
}

function modeOf(scope: OverlayScope | null): Mitigation['mode'] | null {
  if (scope === null || scope.mitigation === 'off') return null;
  return scope.mitigation === 'on' ? 'enforce' : 'observe';
}

/** Control's policy contains the same mitigation or filter already. */
function isDone(
  action: MitigationAction,
  there: ControlPolicy,
  { safelist }: OverlayScope,
): boolean {
  const rendered = renderAction(action, { ref: '', mode: 'enforce', safelist });
  if (rendered.part === 'none') return false;
  const { value } = rendered;
  if (rendered.part === 'filter') {
    return there.filters.some(
      ({ type, port }) => type === rendered.value.type && port === rendered.value.port,
    );
  }
  const wanted = keyOf(value);
  return there.mitigations.some((one) => keyOf({ ...one, ref: '' }) === wanted);
}
