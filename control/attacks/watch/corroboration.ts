import type { Thresholds } from '@portcullis/core/attacks/attack.ts';
import type { Sample, SubjectSample } from '@portcullis/core/attacks/sample.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';

/** How long a report counts: longer than an edge is late, shorter than an attack's hold time. */
const RECENT_MS = 3_000;
/** An edge counts what passes it. If the edges together count less than this part of the threshold, they see no attack. */
const LEAST_SHARE = 1 / 3;
const MAX_SUBJECTS = 16_384;

interface Counted {
  readonly share: number;
  readonly atMs: number;
}

export interface CorroborationOptions {
  readonly thresholdsOf: (subject: string) => Pick<Thresholds, 'pps' | 'bps'>;
  /** Whether an edge of the fleet serves an address or a part of a prefix. */
  readonly serves: (edge: string, subject: string) => boolean;
}

/**
 * Which attacks exports alone claim, while an edge of the same site that serves the subject counts nothing of it. Whoever
 * has a collector's credential, or can send in the name of its exporters, could claim any: such an attack is recorded and
 * observed, and mitigated once an edge counts it.
 */
export class Corroboration {
  readonly #options: CorroborationOptions;
  /** By site: when a collector reported last. Nothing is remembered for others, which is nearly all of a fleet. */
  readonly #exporting = new Map<string, number>();
  /** By site: when each of its edges reported last. */
  readonly #edges = new Map<string, Map<string, number>>();
  /** By subject: the site of the exports that reported it last. */
  readonly #claims = new Map<string, { readonly site: string; readonly atMs: number }>();
  /** By subject and edge: the largest recent part of the threshold. */
  readonly #counted = new Map<string, Map<string, Counted>>();

  constructor(options: CorroborationOptions) {
    this.#options = options;
  }

  note(
    { kind, name }: AgentRef,
    site: string,
    samples: readonly Pick<Sample, 'addresses' | 'prefixes' | 'durationMs'>[],
    nowMs: number,
  ): void {
    if (kind === 'collector') this.#exporting.set(site, nowMs);
    else this.#edgesOf(site).set(name, nowMs);
    if (this.#exporting.size === 0) return;
    for (const { addresses, prefixes, durationMs } of samples) {
      for (const subject of [...addresses, ...prefixes]) {
        if (kind === 'collector') this.#claims.set(subject.subject, { site, atMs: nowMs });
        else this.#count(name, subject, durationMs, nowMs);
      }
    }
    for (const known of [this.#claims, this.#counted] as Map<string, unknown>[]) {
      // The oldest entries come first.
      for (const subject of known.keys()) {
        if (known.size <= MAX_SUBJECTS) break;
        known.delete(subject);
      }
    }
  }

  isClaimed(subject: string, nowMs: number): boolean {
    const isRecent = (atMs: number): boolean => nowMs - atMs <= RECENT_MS;
    const claim = this.#claims.get(subject);
    if (claim === undefined || !isRecent(claim.atMs)) return false;
    const edges = [...(this.#edges.get(claim.site) ?? [])];
    const couldSee = edges.some(
      ([edge, atMs]) => isRecent(atMs) && this.#options.serves(edge, subject),
    );
    return couldSee && !this.isCounted(subject, nowMs);
  }

  /** The edges together count a good part of the threshold. */
  isCounted(subject: string, nowMs: number): boolean {
    const counted = [...(this.#counted.get(subject)?.values() ?? [])];
    const recent = counted.filter(({ atMs }) => nowMs - atMs <= RECENT_MS);
    return recent.reduce((sum, { share }) => sum + share, 0) >= LEAST_SHARE;
  }

  #count(edge: string, sample: SubjectSample, durationMs: number, nowMs: number): void {
    const { subject, packets, bytes } = sample;
    const { pps, bps } = this.#options.thresholdsOf(subject);
    const perSecond = 1_000 / durationMs;
    const share = Math.max((packets * perSecond) / pps, (bytes * 8 * perSecond) / bps);
    const edges = this.#counted.get(subject) ?? new Map<string, Counted>();
    const before = edges.get(edge);
    const isLarger =
      before === undefined || nowMs - before.atMs > RECENT_MS || share >= before.share;
    if (isLarger) edges.set(edge, { share, atMs: nowMs });
    this.#counted.delete(subject);
    this.#counted.set(subject, edges);
  }

  #edgesOf(site: string): Map<string, number> {
    const known = this.#edges.get(site) ?? new Map<string, number>();
    this.#edges.set(site, known);
    return known;
  }
}
