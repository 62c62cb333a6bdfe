import { V1_PREFIX } from '@portcullis/contract/endpoints.ts';
import { momentView } from '../views.ts';
import type { RequestedWindow } from './window.ts';

export type LinkedQuery = Readonly<Record<string, string | number | boolean | undefined>>;

export interface PageLinks {
  readonly first: string;
  readonly last: string;
  readonly prev: string | null;
  readonly next: string | null;
}

/**
 * Builds links on the public URL, because a request's Host cannot be trusted. They keep every parameter and pin window
 * and snapshot, so that a caller who follows them sees each attack once.
 */
export function pageLinks(
  publicUrl: string,
  query: LinkedQuery,
  pinned: { readonly window: RequestedWindow; readonly snapshot: string },
  pages: { readonly current: number; readonly last: number },
): PageLinks {
  const { window, snapshot } = pinned;
  const to = (page: number): string => {
    const params = new URLSearchParams();
    const all = {
      ...query,
      from: momentView(window.from),
      to: momentView(window.to),
      snapshot,
      page,
    };
    for (const [name, value] of Object.entries(all)) {
      if (value !== undefined) params.set(name, String(value));
    }
    return `${publicUrl}${V1_PREFIX}/attacks?${params.toString()}`;
  };
  const { current, last } = pages;
  return {
    first: to(1),
    last: to(last),
    prev: current > 1 ? to(Math.min(current - 1, last)) : null,
    next: current < last ? to(current + 1) : null,
  };
}
