import type { Command } from 'commander';

export interface KeysOptions {
  readonly data?: string;
  readonly json?: boolean;
  readonly organisation?: string;
}
export interface CreateKeyOptions extends KeysOptions {
  readonly organisation: string;
  readonly name: string;
  readonly ability: readonly string[];
  readonly server?: readonly string[];
  readonly manageServer?: readonly string[];
  readonly prefix?: readonly string[];
  readonly source?: readonly string[];
  readonly expires?: string;
}

export function addKeys(program: Command): void {
  const keys = program
    .command('keys')
    .description('API keys of organisations')
    .addHelpText(
      'after',
      `
  portcullis keys generate                       a well-formed key for a fleet file; stores nothing
  portcullis keys create --organisation acme --name ci --ability firewall.read firewall.manage
  portcullis keys list
  portcullis keys revoke 17`,
    );
  keys
    .command('generate')
    .description('print a new key, for a fleet file; stores nothing')
    .option('--json', 'as JSON')
    .action(async (options: KeysOptions) =>
      (await import('../commands/keys.ts')).generateKey(options),
    );
  withDatabaseOptions(keys.command('create').description('make a key and print it, this once'))
    .requiredOption('--organisation <slug>', 'whose key it is')
    .requiredOption('--name <name>', 'what it is for')
    .requiredOption('--ability <ability...>', 'what it may do, such as firewall.read')
    .option('--server <uuid...>', 'game servers that it sees (default: all)')
    .option(
      '--manage-server <uuid...>',
      'of those, servers that it may instruct (default: all of them)',
    )
    .option('--prefix <cidr...>', 'addresses that it may touch (default: all that are held)')
    .option('--source <cidr...>', 'addresses that it may be used from (default: any)')
    .option('--expires <time>', 'an ISO 8601 time with an offset, such as 2027-01-01T00:00:00Z')
    .action(async (options: CreateKeyOptions) =>
      (await import('../commands/keys.ts')).createKeyCommand(options),
    );
  withDatabaseOptions(keys.command('list').description('keys, without their secrets'))
    .option('--organisation <slug>', 'of this organisation only')
    .action(async (options: KeysOptions) =>
      (await import('../commands/keys.ts')).listKeysCommand(options),
    );
  withDatabaseOptions(
    keys.command('revoke').description('revoke a key for good').argument('<id>', 'its number'),
  ).action(async (id: string, options: KeysOptions) =>
    (await import('../commands/keys.ts')).revokeKeyCommand(id, options),
  );
}

/** Of commands that an operator runs on the system of record. */
export function withDatabaseOptions(command: Command): Command {
  return command
    .option('--data <dir>', 'data directory of the embedded database (DATABASE_URL goes before it)')
    .option('--json', 'as JSON');
}
