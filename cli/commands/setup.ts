import { mkdirSync } from 'node:fs';
import type { Command } from 'commander';
import { dataDirectory } from '../control-options.ts';
import { usageError } from '@portcullis/caller/exit.ts';
import { print } from '@portcullis/caller/output.ts';

export function addSetup(program: Command): void {
  program
    .command('setup')
    .description(
      'create the account and the data directory of this host, for a package or an image',
    )
    .option('--data <dir>', 'data directory (default: /var/lib/portcullis)')
    .addHelpText(
      'after',
      '\nThe first `portcullis up` as root does the same. Nothing changes if both exist.',
    )
    .action(runSetup);
}

async function runSetup(options: { readonly data?: string }): Promise<void> {
  if (process.getuid?.() !== 0) throw usageError('setup creates an account: run it as root');
  const { provideAccount } = await import('@portcullis/control/db/embedded/account.ts');
  const dataDir = await dataDirectory(options);
  const { name, uid } = provideAccount();
  // The account traverses the directory and lists nothing of it.
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  print(`Control and PostgreSQL run as ${name} (uid ${uid}). Data is kept in ${dataDir}.`);
}
