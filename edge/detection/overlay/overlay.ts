import { type MitigationAction, renderAction } from '@portcullis/core/attacks/actions.ts';
import type { MitigationMode } from '@portcullis/core/attacks/scope-settings.ts';
import type { Mitigation, Policy } from '@portcullis/core/firewall/policy.ts';
import { keyOf } from '../action-key.ts';

/** What an edge does alone against one attack. */
export interface OverlayEntry {
  /** Whom the attack is on: an address, or a prefix and so every address in it. */
  readonly subject: string;
  readonly actions: readonly MitigationAction[];
  readonly mode: Mitigation['mode'];
  /** Sources that nothing of it touches. */
  readonly safelist: readonly string[];
  /** By a clock that neither jumps nor begins anew with the process (`machine-clock.ts`). */
  readonly expiresMs: number;
}

/** What the operator says of the subject. */
export interface OverlayScope {
  readonly mitigation: MitigationMode;
  readonly safelist: readonly string[];
}

/** What control has in the policy of a subject. */
export type OfControl = Pick<Policy, 'mitigations' | 'filters'>;

export interface OverlayFacts {
  readonly nowMs: number;
  /** For how long control has been answering without a break; null: it is away. */
  readonly controlMs: number | null;
  /** The detector's own attacks of now, with what is to be done against each. */
  readonly attacks: ReadonlyMap<string, readonly MitigationAction[]>;
  /** Subjects whose attacks the detector saw end since the last step. */
  readonly ended: ReadonlySet<string>;
  /** Subjects whose attacks nothing is to be done against. */
  readonly cancelled: ReadonlySet<string>;
  /** Null: nothing is said of it, so nothing is done. */
  readonly scopeOf: (subject: string) => OverlayScope | null;
  readonly ofControl: (subject: string) => OfControl | null;
}

/** So long after it was last known to be needed: an agent that dies leaves nothing behind for longer. */
export const OVERLAY_TTL_MS = 600_000;
/** What control did not do for so long after it came back, it does not want done. */
const HANDOVER_MS = 15_000;
const MAX_ENTRIES = 256;

/** The same list where nothing changes. */
export function stepOverlay(
  before: readonly OverlayEntry[],
  facts: OverlayFacts,
): readonly OverlayEntry[] {
  const kept = before.flatMap((entry) => stepEntry(entry, facts) ?? []);
  const known = new Set(before.map(({ subject }) => subject));
  const added = [...facts.attacks]
    .filter(([subject]) => !known.has(subject))
    .flatMap(([subject, wanted]) => entryAgainst(subject, wanted, facts) ?? [])
    .slice(0, Math.max(0, MAX_ENTRIES - kept.length));
  const isSame =
    added.length === 0 &&
    kept.length === before.length &&
    kept.every((entry, index) => entry === before[index]);
  return isSame ? before : [...kept, ...added];
}

/** Equal for entries that do the same. */
export function keyOfEntry({ subject, actions, mode, safelist }: OverlayEntry): string {
  return keyOf({ subject, actions, mode, safelist });
}

/** Null: it is withdrawn. */
function stepEntry(entry: OverlayEntry, facts: OverlayFacts): OverlayEntry | null {
  const { subject, expiresMs } = entry;
  const { nowMs, controlMs } = facts;
  if (expiresMs <= nowMs || facts.ended.has(subject) || facts.cancelled.has(subject)) return null;
  const wanted = controlMs === null ? facts.attacks.get(subject) : undefined;
  if (wanted === undefined) {
    const isTaken = controlMs !== null && isTakenOver(subject, controlMs, facts);
    return isTaken ? null : asWished(entry, facts);
  }
  const anew = entryAgainst(subject, wanted, facts);
  if (anew === null) return null;
  const isDue = expiresMs - nowMs < OVERLAY_TTL_MS / 2;
  if (keyOfEntry(anew) !== keyOfEntry(entry)) return anew;
  return isDue ? { ...entry, expiresMs: anew.expiresMs } : entry;
}

/** By what control does itself, or by what it leaves alone. */
function isTakenOver(subject: string, controlMs: number, { ofControl }: OverlayFacts): boolean {
  return controlMs >= HANDOVER_MS || (ofControl(subject)?.mitigations.length ?? 0) > 0;
}

function entryAgainst(
  subject: string,
  wanted: readonly MitigationAction[],
  { nowMs, controlMs, cancelled, scopeOf, ofControl }: OverlayFacts,
): OverlayEntry | null {
  const scope = scopeOf(subject);
  const mode = modeOf(scope);
  if (controlMs !== null || scope === null || mode === null || cancelled.has(subject)) return null;
  const there = ofControl(subject);
  const actions = wanted.filter((action) => there === null || !isDone(action, there, scope));
  if (actions.length === 0) return null;
  const { safelist } = scope;
  return { subject, actions, mode, safelist, expiresMs: nowMs + OVERLAY_TTL_MS };
}

/** The operator may have changed his mind since. */
function asWished(entry: OverlayEntry, { scopeOf }: OverlayFacts): OverlayEntry | null {
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

/** Control left the same in place, or the holder has that filter anyhow. */
function isDone(action: MitigationAction, there: OfControl, { safelist }: OverlayScope): boolean {
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
