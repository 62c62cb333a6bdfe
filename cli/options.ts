import type { Command } from 'commander';

/** Options of the operator's commands, which work on the database. */
export interface DatabaseOptions {
  readonly data?: string;
  readonly json?: boolean;
}

export function withDatabaseOptions(command: Command): Command {
  return command
    .option(
      '--data <dir>',
      'data directory of the embedded database (DATABASE_URL takes precedence)',
    )
    .option('--json', 'as JSON');
}

/** The name of the edge and of the node that the first start creates, and the default of `--name`. */
export const MANAGEMENT_HELP =
  'ports of this host that no rule may close, beside those that sshd listens on, such as tcp/22';

export const LOCAL_NAME = 'local';
/** The slug of the organisation of a first start. */
export const FIRST_ORGANISATION = 'default';
