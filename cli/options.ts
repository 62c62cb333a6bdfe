import { usageError } from '@portcullis/caller/exit.ts';
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

export interface HostAndPort {
  /** The host without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
}

/** Parses the HOST:PORT of an option. Throws a usage error that names the option. */
export function addressOf(option: string, text: string): HostAndPort {
  const [, bracketed, plain, digits] =
    /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535) {
    throw usageError(`${option} ${text} is not HOST:PORT, such as 0.0.0.0:8443`);
  }
  return { host, port };
}

/** Addresses of all interfaces, which name no host. */
export const WILDCARDS = ['0.0.0.0', '::'];

/** The host of a URL by which this host reaches what listens at an address. */
export function ownAddress(listened: string): string {
  const host = listened.replaceAll(/^\[|\]$/g, '');
  if (WILDCARDS.includes(host)) return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
