import type { SubjectSample } from '@portcullis/core/attacks/sample.ts';
import type { WatchSamples, WireSample } from '@portcullis/link/messages/attacks.ts';
import type { Served } from './served.ts';

export interface ServedSamples {
  readonly message: WatchSamples;
  /** Of what was left out, one and how many. */
  readonly first: string | null;
  readonly refused: number;
}

/** Pure: what an agent has to say; what it tells of others is left out. */
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
  // One that counted for a prefix elsewhere would take its traffic away from what is judged there.
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
