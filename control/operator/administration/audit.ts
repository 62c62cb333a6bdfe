import type { Handlers } from '../../http/operations/handlers.ts';
import { searchAudit } from './store.ts';
import { viewOf } from '../../http/operations/view.ts';

const PER_PAGE = 50;

/** Records of what was done, by whom. */
export function createAuditHandlers(): Pick<Handlers, 'readAuditTrail'> {
  return {
    async readAuditTrail(call, db) {
      const { search, organisation, before, per_page: perPage = PER_PAGE } = call.query;
      const found = await searchAudit(db, {
        text: search ?? null,
        organisation: organisation ?? null,
        before: before ?? null,
        limit: perPage + 1,
      });
      const shown = found.slice(0, perPage);
      const last = found.length > perPage ? shown.at(-1) : undefined;
      const query = new URLSearchParams({
        per_page: String(perPage),
        ...(search !== undefined && { search }),
        ...(organisation !== undefined && { organisation }),
        before: String(last?.id ?? 0),
      });
      const data = shown.map(viewOf);
      const next = last === undefined ? null : `?${query}`;
      return { status: 200, body: { data, links: { next } } };
    },
  };
}
