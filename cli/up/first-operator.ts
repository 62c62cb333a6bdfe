import { createOperatorLink, findFirstOperator } from '@portcullis/control/accounts/index.ts';
import { operator, withUrl } from '../database.ts';
import { findFirstOrganisation } from '../organisations.ts';

/** How the portal gets its first operator. */
export type FirstOperator =
  /** One is there. */
  | { readonly kind: 'there' }
  /** This start made a link; nothing shows it again. */
  | { readonly kind: 'link'; readonly url: string }
  /** An earlier start showed a link, and nobody used it. */
  | { readonly kind: 'unused' };

/**
 * Makes the link of a first start. `publicUrl` is the address of the portal for people. The link also gives the operator
 * the organisation of the first start.
 */
export function prepareFirstOperator(
  databaseUrl: string,
  publicUrl: string,
): Promise<FirstOperator> {
  return withUrl(databaseUrl, (db) =>
    db.transaction().execute(async (tx): Promise<FirstOperator> => {
      const found = await findFirstOperator(tx);
      if (found !== 'none') return { kind: found };
      const first = await findFirstOrganisation(tx);
      const { url } = await createOperatorLink(tx, {
        actor: operator(),
        publicUrl,
        organisationId: first?.id ?? null,
      });
      return { kind: 'link', url };
    }),
  );
}
