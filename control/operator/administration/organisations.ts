import { loadSuggestions, suggestionView } from '../../attacks/detection/index.ts';
import { findOrganisation } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { Handlers } from '../../http/operations/handlers.ts';
import { Problem } from '../../problem.ts';

/** Suggestions of thresholds; organisations themselves are declared objects. */
export function createOrganisationHandlers(): Pick<Handlers, 'suggestThresholds'> {
  return {
    async suggestThresholds(call, db) {
      const { slug } = call.params;
      await requireOrganisation(db, slug);
      const suggestions = await loadSuggestions(db, slug);
      return { status: 200, body: { data: suggestions.map(suggestionView) } };
    },
  };
}

export async function requireOrganisation(
  db: Db | Tx,
  slug: string,
): Promise<{ readonly id: number; readonly slug: string }> {
  const organisation = await findOrganisation(db, slug);
  if (organisation !== null) return organisation;
  throw new Problem('not_found', `There is no organisation "${slug.slice(0, 63)}".`);
}
