import type { SubjectSample } from '@portcullis/core/attacks/sample.ts';
import type { WatchSamples, WireSample } from '@portcullis/link/messages/attacks.ts';
import type { Served } from './served-prefixes.ts';

export interface ServedSamples {
  readonly message: WatchSamples;
  /** An example and the number of refused parts. */
  readonly first: string | null;
  readonly refused: number;
}

/** Keeps the parts of a sample that the agent may report. */
export function servedSamples(message: WatchSamples, served: Served): ServedSamples {
  let first: string | null = null;
  let refused = 0;
  const only = <T extends { readonly subject: string }>(
    all: readonly T[],
    isTrue: (one: T) => boolean,
  ): readonly T[] => {
    const kept = all.filter((one) => {
      if (isTrue(one)) return true;
      first ??= one.subject;
      refused++;
      return false;
    });
    return kept.length === all.length ? all : kept;
  };
  // An address with a wrong prefix would remove its traffic from that prefix.
  const isTrue = ({ subject, prefix }: SubjectSample): boolean =>
    served.has(subject) && (prefix === null || served.isInside(subject, prefix));
  const samples = message.samples.map(
    (sample): WireSample => ({
      ...sample,
      addresses: only(sample.addresses, isTrue),
      prefixes: only(sample.prefixes, isTrue),
      tops: only(sample.tops, ({ subject }) => served.has(subject)),
    }),
  );
  return { message: { ...message, samples }, first, refused };
}
