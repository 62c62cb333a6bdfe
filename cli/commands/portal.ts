import type { Command } from 'commander';
import { publicUrlOf } from '../control-options.ts';
import { withTransaction } from '../database.ts';
import { failed } from '@portcullis/caller/exit.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { print, printJson } from '@portcullis/caller/output.ts';

interface LinkOptions extends DatabaseOptions {
  readonly publicUrl?: string;
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
  portcullis portal reset ada@example.net    a one-time link for a new password`,
    );
  withLinkOptions(
    portal.command('link').description('print a one-time link that makes an operator'),
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

async function linkCommand(options: LinkOptions): Promise<void> {
  const publicUrl = await publicUrlOf(options);
  const { createOperatorLink } = await importAccounts();
  const link = await withTransaction(options, (tx, actor) =>
    createOperatorLink(tx, { actor, publicUrl }),
  );
  show(options, link);
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
