const STILL_OPEN = /Packets from (\S+) still pass to [^:]+: [^.]*\./g;

export interface StillOpen {
  readonly source: string;
  /** A sentence that the service said, without how to close it elsewhere than on this page. */
  readonly sentence: string;
}

/** The denied sources that an allow rule still lets in, by the message of a write of rules. */
export function findStillOpen(message: string): StillOpen[] {
  return [...message.matchAll(STILL_OPEN)].flatMap(([sentence, source]) =>
    source === undefined ? [] : [{ source, sentence }],
  );
}
