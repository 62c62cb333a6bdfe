import type { Sample, SubjectSample } from '@portcullis/core/attacks/sample.ts';
import type { Thresholds } from '@portcullis/core/attacks/attack.ts';
import {
  MAX_SUBJECTS_PER_SAMPLE,
  SENT_SHARE,
  type WireSample,
} from '@portcullis/link/messages/attacks.ts';
import { type SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';

export interface Downsampling {
  readonly thresholdsOf: (subject: string) => Pick<Thresholds, 'pps' | 'bps'>;
  /** Null if this sample carries no evidence. */
  readonly tops: ((subject: string) => SubjectTops | null) | null;
}

/** Evidence is sent for subjects above this share of their threshold: an attack may open before the next sample. */
const EVIDENCE_SHARE = 0.5;
/** The most subjects with evidence in a sample. */
const MAX_EVIDENCE = 32;

interface Weighed {
  readonly one: SubjectSample;
  /** The share of its threshold in packets or in bits, whichever is higher. */
  readonly share: number;
}

/** Keeps the subjects above a minimum share of their threshold; if there are too many, those nearest to it. */
export function downsample(sample: Sample, { thresholdsOf, tops }: Downsampling): WireSample {
  const seconds = Math.max(1, sample.durationMs) / 1000;
  const weigh = (subjects: readonly SubjectSample[]): Weighed[] => {
    const weighed: Weighed[] = [];
    for (const one of subjects) {
      const { pps, bps } = thresholdsOf(one.subject);
      const share = Math.max(one.packets / pps, (one.bytes * 8) / bps) / seconds;
      if (share >= SENT_SHARE) weighed.push({ one, share });
    }
    return weighed;
  };
  const all = weigh(sample.addresses).concat(weigh(sample.prefixes));
  const isCrowded = all.length > MAX_SUBJECTS_PER_SAMPLE;
  const near = isCrowded || tops !== null ? all.toSorted((a, b) => b.share - a.share) : all;
  const sent = near.slice(0, MAX_SUBJECTS_PER_SAMPLE).map(({ one }) => one);
  const evidence = near
    .slice(0, MAX_EVIDENCE)
    .filter(({ share }) => share >= EVIDENCE_SHARE)
    .flatMap(({ one }) => tops?.(one.subject) ?? []);
  return {
    atMs: Math.round(sample.atMs),
    durationMs: sample.durationMs,
    addresses: sent.filter(({ subject }) => !subject.includes('/')),
    prefixes: sent.filter(({ subject }) => subject.includes('/')),
    tops: evidence,
  };
}
