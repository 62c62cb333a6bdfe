/** Which state of the history the pages of one list show. */
export interface Snapshot {
  readonly revision: number;
  /** The first page's window was raised to what the caller may see; the links repeat the raised one. */
  readonly fromClamped: boolean;
}

/** `1842`, `1842c`. Callers take it from links and do not look into it. */
const SNAPSHOT = /^(0|[1-9][0-9]{0,14})(c?)$/;

export function formatSnapshot({ revision, fromClamped }: Snapshot): string {
  return `${revision}${fromClamped ? 'c' : ''}`;
}

/** Null: no link of ours has it. */
export function parseSnapshot(text: string): Snapshot | null {
  const [, revision, clamped] = SNAPSHOT.exec(text) ?? [];
  return revision === undefined
    ? null
    : { revision: Number(revision), fromClamped: clamped === 'c' };
}
