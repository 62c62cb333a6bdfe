import type { Attack, PresentType, Share } from '@portcullis/core/attacks/attack.ts';
import type { AttackTops } from '@portcullis/core/attacks/mitigation/plan-mitigations.ts';

/** The stored facts of an attack for the planning of mitigations. */
export interface AttackFacts {
  readonly type: Attack['type'];
  readonly shares: readonly Share[];
  /** Absent in facts that an earlier version stored. */
  readonly present?: readonly PresentType[] | undefined;
  /** Null if not reported. */
  readonly tops: AttackTops | null;
  /** Exports alone claim it, and no edge has counted it yet: it is only observed. */
  readonly isClaimed?: boolean;
}

/** Facts from stored evidence, as far as it is valid. */
export function factsOfEvidence(type: Attack['type'], evidence: unknown): AttackFacts {
  const { shares, tops } = (evidence ?? {}) as { shares?: unknown; tops?: unknown };
  const known = Array.isArray(shares) ? (shares as unknown[]).filter(isShare) : [];
  return {
    type,
    shares: known.length > 0 ? known : [{ type, share: 1 }],
    tops: isTops(tops) ? tops : null,
  };
}

function isShare(value: unknown): value is Share {
  const { type, share } = (value ?? {}) as Record<string, unknown>;
  return typeof type === 'string' && typeof share === 'number';
}

function isTops(value: unknown): value is AttackTops {
  const { sources, sourcePorts, destinationPorts } = (value ?? {}) as Record<string, unknown>;
  const all = (list: unknown, key: string, type: string): boolean =>
    Array.isArray(list) &&
    (list as unknown[]).every((one) => {
      const { [key]: named, packets } = (one ?? {}) as Record<string, unknown>;
      return typeof named === type && typeof packets === 'number';
    });
  return (
    all(sources, 'source', 'string') &&
    all(sourcePorts, 'port', 'number') &&
    all(destinationPorts, 'port', 'number')
  );
}
