import type { Tx } from '@portcullis/control/db/database.ts';
import type { Command } from 'commander';
import { publicUrlOf } from '../control-options.ts';
import { withTransaction } from '../database.ts';
import { failed } from '@portcullis/caller/exit.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { findFirstOrganisation, findOrganisationId } from '../organisations.ts';
import { print, printJson } from '@portcullis/caller/output.ts';

interface LinkOptions extends DatabaseOptions {
  readonly publicUrl?: string;
}

interface OperatorLinkOptions extends LinkOptions {
  readonly organisation?: string;
}

const importAccounts = () => import('@portcullis/control/accounts/index.ts');

export function addPortal(program: Command): void {
  const portal = program
    .command('portal')
    .description('sign-in to the portal')
    .addHelpText(
      'after',
      `
  portcullis portal link                     a one-time link that makes an operator
  portcullis portal link --organisation acme      one who also owns acme
  portcullis portal reset ada@example.net    a one-time link for a new password`,
    );
  withLinkOptions(
    portal
      .command('link')
      .description('print a one-time link that makes an operator')
      .option(
        '--organisation <slug>',
        'that the operator will own too (default: none; of the first operator, the one that the first start made)',
      )
      .addHelpText(
        'after',
        `
An operator without an organisation opens one in the portal: Organisations, Open.`,
      ),
  ).action(linkCommand);
  withLinkOptions(
    portal
      .command('reset')
      .description('print a one-time link for a new password; it ends every other way in')
      .argument('<email>', 'of the account'),
  ).action(resetCommand);
}

function withLinkOptions(command: Command): Command {
  return withDatabaseOptions(command).option(
    '--public-url <url>',
    'where people reach the portal (default: PORTCULLIS_PUBLIC_URL, else that of control)',
  );
}

async function linkCommand(options: OperatorLinkOptions): Promise<void> {
  const publicUrl = await publicUrlOf(options);
  const { createOperatorLink } = await importAccounts();
  const { link, owned } = await withTransaction(options, async (tx, actor) => {
    const organisation = await ownedOrganisation(tx, options);
    const organisationId = organisation?.id ?? null;
    return {
      link: await createOperatorLink(tx, { actor, publicUrl, organisationId }),
      owned: organisation?.slug ?? null,
    };
  });
  show(options, link);
  if (options.json !== true) print(wordOwned(owned));
}

function wordOwned(slug: string | null): string {
  return slug === null
    ? 'It makes an operator without an organisation, who opens one in the portal (Organisations, Open). --organisation SLUG makes an owner of it too.'
    : `It makes an operator, who is also an owner of ${slug}.`;
}

/** The organisation of `--organisation`, else the one that the first start of `up` gives the first operator. */
async function ownedOrganisation(
  tx: Tx,
  { organisation: slug }: OperatorLinkOptions,
): Promise<{ readonly id: number; readonly slug: string } | null> {
  if (slug !== undefined) return { id: await findOrganisationId(tx, slug), slug };
  const { findFirstOperator } = await importAccounts();
  return (await findFirstOperator(tx)) === 'there' ? null : findFirstOrganisation(tx);
}

async function resetCommand(email: string, options: LinkOptions): Promise<void> {
  const publicUrl = await publicUrlOf(options);
  const { createReset, findPersonByEmail } = await importAccounts();
  const link = await withTransaction(options, async (tx, actor) => {
    const person = await findPersonByEmail(tx, email);
    if (person === null) throw failed(`nobody has the email ${email}`);
    return createReset(tx, person, { actor, publicUrl });
  });
  show(options, link);
}

function show(
  { json }: LinkOptions,
  { url, expiresAt }: { readonly url: string; readonly expiresAt: Date },
): void {
  const until = expiresAt.toISOString();
  if (json === true) printJson({ url, expires_at: until });
  else print(`${url}\nIt works once, until ${until}. Open it in a browser.`);
}
