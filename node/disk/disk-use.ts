/** What a server's folder takes on the disk. */
export interface DiskUse {
  /** Blocks that are allotted: a sparse file takes what it has, a file with several names counts once. */
  readonly bytes: number;
  readonly entries: number;
  /** false: there was more than is looked at (too many entries, too deep); the truth is larger. */
  readonly complete: boolean;
}

/** Walks a folder a little at a time, so that a thousand servers cost the host no more than one. */
export type MeasureDisk = (folder: string, signal: AbortSignal) => Promise<DiskUse>;
