interface ListedPage {
  readonly data: readonly object[];
  readonly meta: {
    readonly total: number;
    readonly to: string;
    readonly from_clamped: boolean;
  };
}

const HOUR_MS = 3_600_000;

/**
 * What a page says, for its weak tag: the attacks with all their fields, and not the ends of a window that moves with the
 * clock, nor the links, which pin it. Once an hour the page is another one, so that the links of one that a caller
 * keeps do not outlive their snapshot.
 */
export function listMeaning(query: object, { data, meta }: ListedPage): string {
  const hour = Math.floor(Date.parse(meta.to) / HOUR_MS);
  return JSON.stringify([query, data, meta.total, meta.from_clamped, hour]);
}
