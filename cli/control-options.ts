import type { ControlConfig } from '@portcullis/control/config/config.ts';
import type { Command } from 'commander';
import { failed, usageError } from '@portcullis/caller/exit.ts';
import {
  chooseInstallation,
  type Installation,
  isInstalled,
  movedTo,
  otherInstallation,
  SYSTEM_INSTALLATION,
} from './installation/choose.ts';

/** Options of a control plane, shared by `up` and `control`. */
export interface ControlOptions {
  readonly data?: string;
  readonly listen?: string;
  readonly metricsListen?: string;
  readonly publicUrl?: string;
  readonly replicaUrl?: string;
  readonly trustedProxy?: string;
  readonly webhookNetworks?: string;
  readonly smtpUrl?: string;
  readonly mailFrom?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsAuto?: string | true;
  readonly acmeDirectory?: string;
  readonly acmeListen?: string;
  readonly databasePool?: string;
  readonly nats?: string;
  readonly logLevel?: string;
}

export function withControlOptions(command: Command): Command {
  return command
    .option(
      '--data <dir>',
      'data directory (default: /var/lib/portcullis as root, else ~/.local/state/portcullis)',
    )
    .option('--listen <host:port>', 'where the API listens (default: 127.0.0.1:8080)')
    .option(
      '--metrics-listen <host:port>',
      "where /metrics listens, or 'off' (default: 127.0.0.1:9464)",
    )
    .option('--public-url <url>', 'base of absolute links, if it differs from --listen')
    .option(
      '--replica-url <url>',
      'where nodes of other hosts reach this replica for streams of files (default: --public-url)',
    )
    .option(
      '--trusted-proxy <addresses>',
      'proxies whose X-Forwarded-For is trusted, with commas; none: clients reach control directly',
    )
    .option('--webhook-networks <cidrs>', 'private networks that webhooks may reach, with commas')
    .option('--smtp-url <url>', 'mail server for invitations: smtp://mail.example.net:587')
    .option('--mail-from <address>', 'the address that mail comes from')
    .option('--tls-cert <file>', 'PEM certificate; serves HTTPS')
    .option('--tls-key <file>', 'PEM key of the certificate')
    .option(
      '--tls-auto [email]',
      'order the certificate of --public-url by ACME; self-signed until it is there',
    )
    .option('--acme-directory <url>', "of the certificate authority (default: Let's Encrypt)")
    .option(
      '--acme-listen <host:port>',
      'where it asks by plain HTTP (default: port 80 of --listen)',
    )
    .option(
      '--nats <urls>',
      'also serve agents over these NATS servers, with commas: tls://nats.example.net:4222',
    )
    .option(
      '--database-pool <number>',
      'connections to the database for requests, and as many for agents (default: 10)',
    )
    .option('--log-level <level>', 'fatal, error, warn, info or debug');
}

/** The environment variable that each option overrides. */
const VARIABLES = {
  data: 'PORTCULLIS_DATA',
  listen: 'PORTCULLIS_LISTEN',
  metricsListen: 'PORTCULLIS_METRICS_LISTEN',
  publicUrl: 'PORTCULLIS_PUBLIC_URL',
  replicaUrl: 'PORTCULLIS_REPLICA_URL',
  trustedProxy: 'PORTCULLIS_TRUSTED_PROXY',
  webhookNetworks: 'PORTCULLIS_WEBHOOK_NETWORKS',
  smtpUrl: 'PORTCULLIS_SMTP_URL',
  mailFrom: 'PORTCULLIS_MAIL_FROM',
  tlsCert: 'PORTCULLIS_TLS_CERT',
  tlsKey: 'PORTCULLIS_TLS_KEY',
  tlsAuto: 'PORTCULLIS_TLS_AUTO',
  acmeDirectory: 'PORTCULLIS_ACME_DIRECTORY',
  acmeListen: 'PORTCULLIS_ACME_LISTEN',
  databasePool: 'PORTCULLIS_DATABASE_POOL',
  nats: 'PORTCULLIS_NATS',
  logLevel: 'PORTCULLIS_LOG_LEVEL',
} as const satisfies Readonly<Record<keyof ControlOptions, keyof NodeJS.ProcessEnv>>;

/** The configuration of control from the options, else from the environment. Errors name the option that was given. */
export async function controlConfig(options: ControlOptions): Promise<ControlConfig> {
  const { decideConfig } = await import('@portcullis/control/config/config.ts');
  const isRoot = process.getuid?.() === 0;
  const decided = decideConfig(controlEnvironment(options), { isRoot });
  if (!decided.ok) throw usageError(withOptionNames(decided.reason, options));
  const { dataDir } = decided.value;
  requireNotMoved(dataDir);
  return decided.value;
}

/** The data directory of a command, given or by default, and what `up` says about another one. */
export function installationOf(dataDir: string, isGiven: boolean): Installation {
  if (isGiven) return { dataDir, notice: null, adoptable: null };
  const isRoot = process.getuid?.() === 0;
  const other = otherInstallation(process.env, isRoot);
  return chooseInstallation({ own: dataDir, other, isInstalled, isRoot });
}

/** The copy that an adoption leaves is out of date. */
function requireNotMoved(dataDir: string): void {
  const to = movedTo(dataDir);
  if (to === null) return;
  const where = to === SYSTEM_INSTALLATION ? '' : ` and --data ${to}`;
  const how = process.getuid?.() === 0 ? `use --data ${to}` : `run this with sudo${where}`;
  throw failed(
    `the installation of ${dataDir} is in ${to} now: ${how}. To begin another one here, delete ${dataDir} first`,
  );
}

/** The environment of a control process with these options. */
export function controlEnvironment(options: ControlOptions): NodeJS.ProcessEnv {
  const given = givenOptions(options).map(([option, variable]) => {
    const value = options[option];
    return [variable, value === true ? 'on' : value];
  });
  return { ...process.env, ...Object.fromEntries(given) };
}

/**
 * The public URL of the control plane of a data directory: as it is given here, else as that of the control plane that was
 * started last on it.
 */
export async function publicUrlOf(
  options: Pick<ControlOptions, 'data' | 'publicUrl'>,
): Promise<string> {
  const { dataDir, publicUrl } = await controlConfig(options);
  const environment = controlEnvironment(options);
  const isGiven = [VARIABLES.publicUrl, VARIABLES.listen].some((name) => environment[name]?.trim());
  if (isGiven) return publicUrl;
  const { readPublicUrl } = await import('@portcullis/control/public-url.ts');
  return readPublicUrl(dataDir) ?? publicUrl;
}

/** The data directory of this host: the one of `up` and of `control`. */
export async function dataDirectory({ data }: { readonly data?: string }): Promise<string> {
  return (await controlConfig(data === undefined ? {} : { data })).dataDir;
}

/** Options that the environment of this process gives, which that of sudo does not. */
export function controlVariables(): Partial<ControlOptions> {
  const all = Object.entries(VARIABLES) as [keyof ControlOptions, string][];
  const given = all.filter(([option, name]) => option !== 'data' && Boolean(process.env[name]));
  return Object.fromEntries(given.map(([option, name]) => [option, process.env[name]]));
}

export function optionName(option: string): string {
  return `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function withOptionNames(reason: string, options: ControlOptions): string {
  return givenOptions(options).reduce(
    (text, [option, variable]) => text.replaceAll(variable, optionName(option)),
    reason,
  );
}

function givenOptions(options: ControlOptions): [keyof ControlOptions, string][] {
  const all = Object.entries(VARIABLES) as [keyof ControlOptions, string][];
  return all.filter(([option]) => options[option] !== undefined);
}
