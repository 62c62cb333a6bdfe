/** An entry of an archive. What it says of itself is not trusted. */
export interface ArchiveEntry {
  readonly name: Buffer;
  readonly type: 'file' | 'folder' | 'other';
  /** Null: unknown. */
  readonly mode: number | null;
  /** The content of a file. */
  readonly content: () => Promise<AsyncIterable<Uint8Array>>;
}
