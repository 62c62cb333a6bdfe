import type { Thresholds } from '@portcullis/core/attacks/attack.ts';
import type { Sample, SubjectSample } from '@portcullis/core/attacks/sample.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';

/** How long a report counts: longer than an edge is late, shorter than an attack's hold time. */
const RECENT_MS = 3_000;
/**
 * An edge counts what passes it. If the edges together count less than this part of the threshold, they see no
 * attack.
 */
const LEAST_SHARE = 1 / 3;
/** The most subjects of one agent, so that none makes the others' reports forgotten. */
const MAX_SUBJECTS = 16_384;

interface Counted {
  /** The largest recent part of the threshold, and when it was reported. */
  readonly share: number;
  readonly atMs: number;
  /** When the subject was reported last, with any part. */
  readonly seenAtMs: number;
}

/** Everything that one agent reported. */
interface Reports {
  readonly kind: AgentRef['kind'];
  readonly name: string;
  site: string;
  atMs: number;
  /** Subjects: those reported last are at the end. */
  readonly subjects: Map<string, Counted>;
  /** When a recent report was forgotten, because there were too many. */
  forgotAtMs: number;
}

export interface CorroborationOptions {
  readonly thresholdsOf: (subject: string) => Pick<Thresholds, 'pps' | 'bps'>;
  /** Whether an edge of the fleet serves an address or a part of a prefix. */
  readonly serves: (edge: string, subject: string) => boolean;
}

/**
 * Finds the attacks that exports alone claim, while an edge of the same site that serves the subject counts nothing
 * of it. An attacker with a collector's credential, or one that forges its exporters, could claim any: such an
 * attack is recorded and observed, and mitigated once an edge counts it, or the exports of a site where no edge could.
 */
export class Corroboration {
  readonly #options: CorroborationOptions;
  readonly #agents = new Map<string, Reports>();
  /**
   * Whether there are exports. Without a collector nothing is remembered of subjects, which is nearly all of a fleet.
   */
  #isExporting = false;

  constructor(options: CorroborationOptions) {
    this.#options = options;
  }

  note(
    { kind, name }: AgentRef,
    site: string,
    samples: readonly Pick<Sample, 'addresses' | 'prefixes' | 'durationMs'>[],
    nowMs: number,
  ): void {
    if (kind === 'collector') this.#isExporting = true;
    const reports = this.#reportsOf(kind, name);
    reports.site = site;
    reports.atMs = nowMs;
    if (!this.#isExporting) return;
    for (const { addresses, prefixes, durationMs } of samples) {
      for (const one of [...addresses, ...prefixes]) this.#count(reports, one, durationMs, nowMs);
    }
    const { subjects } = reports;
    for (const [subject, { seenAtMs }] of subjects) {
      if (subjects.size <= MAX_SUBJECTS) break;
      subjects.delete(subject);
      if (isRecent(seenAtMs, nowMs)) reports.forgotAtMs = nowMs;
    }
  }

  isClaimed(subject: string, nowMs: number): boolean {
    const isClaim = (reports: Reports): boolean => {
      if (reports.kind !== 'collector') return false;
      const atMs = reports.subjects.get(subject)?.seenAtMs ?? reports.forgotAtMs;
      return isRecent(atMs, nowMs) && this.#couldSee(reports.site, subject, nowMs);
    };
    return [...this.#agents.values()].some(isClaim) && !this.isCounted(subject, nowMs);
  }

  /** The edges, and the exports of sites where no edge could, together count a good part of the threshold. */
  isCounted(subject: string, nowMs: number): boolean {
    let sum = 0;
    for (const { kind, site, subjects } of this.#agents.values()) {
      const counted = subjects.get(subject);
      if (counted === undefined || !isRecent(counted.atMs, nowMs)) continue;
      if (kind !== 'collector' || !this.#couldSee(site, subject, nowMs)) sum += counted.share;
    }
    return sum >= LEAST_SHARE;
  }

  /** Whether an edge of a site would count the subject. */
  #couldSee(site: string, subject: string, nowMs: number): boolean {
    return [...this.#agents.values()].some(
      (one) =>
        one.kind === 'edge' &&
        one.site === site &&
        isRecent(one.atMs, nowMs) &&
        this.#options.serves(one.name, subject),
    );
  }

  #count({ subjects }: Reports, sample: SubjectSample, durationMs: number, nowMs: number): void {
    const { subject, packets, bytes } = sample;
    const { pps, bps } = this.#options.thresholdsOf(subject);
    const perSecond = 1_000 / durationMs;
    const share = Math.max((packets * perSecond) / pps, (bytes * 8 * perSecond) / bps);
    const before = subjects.get(subject);
    const isLarger = before === undefined || !isRecent(before.atMs, nowMs) || share >= before.share;
    subjects.delete(subject);
    subjects.set(subject, { ...(isLarger ? { share, atMs: nowMs } : before), seenAtMs: nowMs });
  }

  #reportsOf(kind: AgentRef['kind'], name: string): Reports {
    const key = `${kind}/${name}`;
    const known = this.#agents.get(key);
    if (known !== undefined) return known;
    const none = { site: '', atMs: -Infinity, forgotAtMs: -Infinity };
    const reports: Reports = { kind, name, ...none, subjects: new Map() };
    this.#agents.set(key, reports);
    return reports;
  }
}

function isRecent(atMs: number, nowMs: number): boolean {
  return nowMs - atMs <= RECENT_MS;
}
