import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { WatchScope } from '@portcullis/core/attacks/scope-settings.ts';
import type { Attack } from '@portcullis/core/attacks/attack.ts';
import type { AttackSeries } from '@portcullis/core/attacks/series.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import type { MitigationAction } from '@portcullis/core/attacks/actions.ts';
import type { Mitigation } from '@portcullis/core/firewall/policy.ts';

/**
 * What those who count traffic (edges, collectors of flows) and control say to each other about attacks. Counting
 * goes on without an answer: these messages are apart from those that policies travel by, and behind them.
 */
export type WatchRequest = WatchAsk | WatchSamples | EdgeAttacks;

/** Asks what is to be watched. After hello, at each resync, and on a `WatchNotice`; losing one loses nothing. */
export interface WatchAsk {
  readonly kind: 'watch.ask';
  readonly instance: string;
  /** Of the settings that are held whole; null: none. */
  readonly version: string | null;
  /** `next` of the page before this one; null begins. */
  readonly cursor: string | null;
}

/** One page of what is to be watched. All pages of one asking are of one `version`; otherwise it is begun again. */
export interface WatchSettings {
  readonly kind: 'watch.settings';
  readonly version: string;
  /** null: the version that was asked with is current. Canonical and each only once. */
  readonly scopes: readonly WatchScope[] | null;
  /** On the first page; missing: on none, or control is an older one. */
  readonly cancelled?: readonly CancelledAttack[];
  readonly next: string | null;
}

/** An attack against which nothing is to be done any more, by anybody, for as long as it is this attack. */
export interface CancelledAttack {
  readonly subject: string;
  readonly startedAtMs: number;
}
/** The newest; of more, edges that are alone act against the oldest. */
export const MAX_CANCELLED = 256;

export const MAX_WATCH_SCOPES = 100_000;
/** A page is shorter where it would be large: `MAX_MESSAGE_BYTES`. */
export const MAX_SCOPES_PER_PAGE = 10_000;
export const MAX_SAFELIST = 1_000;

/** A hint: the settings are of this version now. */
export interface WatchNotice {
  readonly kind: 'watch';
  readonly version: string;
}

/** Measurements, not facts to keep: those not answered in time are thrown away, and newer ones are sent. */
export interface WatchSamples {
  readonly kind: 'watch.samples';
  readonly instance: string;
  /** From 1 on, for each instance; a gap is what was thrown away. */
  readonly sequence: number;
  /** What the sender's clock showed when this was sent. */
  readonly atMs: number;
  /** Oldest first. */
  readonly samples: readonly WireSample[];
}
export const MAX_SAMPLES_PER_MESSAGE = 8;
/** Addresses and prefixes of a sample together. */
export const MAX_SUBJECTS_PER_SAMPLE = 2_048;
/** Below this part of its threshold a subject is not sent. */
export const SENT_SHARE = 1 / 32;

/** Without the subjects that get little. */
export interface WireSample extends Sample {
  /** Evidence, of subjects near their thresholds only. */
  readonly tops: readonly SubjectTops[];
}

export const MAX_TOPS_PER_SAMPLE = 256;

/**
 * Attacks that an edge saw for itself while control was away. Kept on its disk until answered; control records each
 * once, however often it is told. One that still goes on when control is back is told then, and once more when it has
 * ended, under the same id.
 */
export interface EdgeAttacks {
  readonly kind: 'edge.attacks';
  readonly instance: string;
  readonly sequence: number;
  /** What the edge's clock showed when this was sent; tells control how far that clock is off. */
  readonly atMs: number;
  readonly attacks: readonly WireAttack[];
}
export const MAX_ATTACKS_PER_MESSAGE = 64;

export interface WireAttack extends Attack {
  /** When the edge's detector knew. */
  readonly openedAtMs: number;
  /** When the kernel had the first mitigation of the edge's own; null: there was none. */
  readonly mitigatedAtMs: number | null;
  readonly actions: readonly OverlayAction[];
  readonly tops: SubjectTops | null;
  readonly series: AttackSeries;
}
/** Those of the end and those of before, when the attack turned to another kind; the last of more. */
export const MAX_OVERLAY_ACTIONS = 64;

/** What an edge did alone against the attack, or marked only. */
export interface OverlayAction {
  readonly action: MitigationAction;
  readonly mode: Mitigation['mode'];
  readonly sinceMs: number;
  /** When it was withdrawn; null: it was not yet. */
  readonly untilMs: number | null;
}
