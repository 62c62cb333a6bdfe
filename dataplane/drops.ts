import type { DropEntry, DropSample } from '@portcullis/core/firewall/drops.ts';

/** What a source of drop counters saw since it was last read. */
export interface DropReading {
  readonly entries: readonly DropEntry[];
  readonly samples: readonly DropSample[];
}

/** Something that counts dropped packets. */
export interface DropSource {
  /** For the log: `the early drop`. */
  readonly name: string;
  /** What was dropped since the last call; nothing is told twice. Bounded in time and size. */
  read(): Promise<DropReading>;
}
