import type { PassedSample } from '@portcullis/core/firewall/passed.ts';
import type { DropEntry, DropSample } from '@portcullis/core/firewall/drops.ts';

/** Drops since the last read. */
export interface DropReading {
  readonly entries: readonly DropEntry[];
  readonly samples: readonly DropSample[];
  /** Samples of what passed; absent from sources that see only drops. */
  readonly passed?: readonly PassedSample[];
}

/** A source of drop counters. */
export interface DropSource {
  /** For the log: `the early drop`. */
  readonly name: string;
  /** Drops since the last call; nothing is reported twice. Bounded in time and size. */
  read(): Promise<DropReading>;
}
