import type { BlockRequest } from '@portcullis/client/index.ts';

const HOUR_MS = 3_600_000;

/** How long a source can be blocked; null: until it is unblocked. */
export const LASTING_MS = {
  never: null,
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
} as const;

export interface BlockDraft {
  readonly sources: string;
  readonly where: 'here' | 'everything';
  readonly note: string;
  readonly ends: keyof typeof LASTING_MS;
}

export const EMPTY_BLOCK: BlockDraft = { sources: '', where: 'here', note: '', ends: 'never' };

/** The sources of a text: separated by commas, spaces or lines. */
export function splitSources(typed: string): string[] {
  return typed.split(/[\s,;]+/).filter((source) => source !== '');
}

export function blockRequestOf(draft: BlockDraft, ip: string, now: number): BlockRequest {
  const lasting = LASTING_MS[draft.ends];
  return {
    sources: splitSources(draft.sources),
    target: draft.where === 'here' ? ip : null,
    note: draft.note.trim(),
    expires_at: lasting === null ? null : new Date(now + lasting).toISOString(),
  };
}
