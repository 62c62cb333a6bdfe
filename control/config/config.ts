import { isIPv6 } from 'node:net';
import { join, resolve } from 'node:path';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { type Cidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Parsed } from '@portcullis/core/net/parsed.ts';
import { DEFAULT_LISTEN, DEFAULT_METRICS_LISTEN } from '../http/server/config.ts';
import type { MailConfig } from '../mail/index.ts';
import type { ControlEnvironment } from './env.ts';

export interface ListenAddress {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
}

/** The configuration of control: values only, no file read or opened yet. */
export interface ControlConfig {
  readonly dataDir: string;
  /** Null means the embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | null;
  /** The same database as a role that may create tables; null means the role of `databaseUrl`. */
  readonly migrationUrl: string | null;
  /** Connections to the database at most. */
  readonly databasePool: number;
  readonly listen: ListenAddress;
  /** Null disables metrics. */
  readonly metricsListen: ListenAddress | null;
  /** Without a trailing slash. */
  readonly publicUrl: string;
  readonly trustedProxies: readonly string[];
  /** Networks that webhooks may reach though they are not public. */
  readonly webhookNetworks: readonly Cidr[];
  /** Null: no mail is sent. */
  readonly mail: MailConfig | null;
  /** Paths of PEM files; null means plain HTTP. */
  readonly tlsFiles: { readonly cert: string; readonly key: string } | null;
  /** Unix socket for edges of this host. */
  readonly linkSocket: string;
  /** Unix socket for nodes of this host. */
  readonly nodeSocket: string;
  /** The account to switch to when started as root; null lets embedded/account.ts choose. */
  readonly account: string | null;
  readonly logLevel: string;
  /** Not ready before the supervisor has applied its fleet file. */
  readonly awaitsFleet: boolean;
}

const DEFAULT_POOL = 10;
/** Long transactions may hold two connections while others wait. */
const MIN_POOL = 3;
const MAX_POOL = 1_000;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/** Parses the environment. Reports all mistakes at once, one per line. */
export function decideConfig(
  env: ControlEnvironment,
  options: { readonly isRoot: boolean },
): Parsed<ControlConfig> {
  const problems: string[] = [];
  const take = <T>(parsed: Parsed<T>, otherwise: T): T => {
    if (parsed.ok) return parsed.value;
    problems.push(parsed.reason);
    return otherwise;
  };
  const dataDir = dataDirectory(env, options.isRoot);
  const listen = take(parseListen('PORTCULLIS_LISTEN', env.listen, DEFAULT_LISTEN), DEFAULT_LISTEN);
  const tlsFiles = take(decideTls(env), null);
  const config: ControlConfig = {
    dataDir,
    databaseUrl: take(decideDatabase('DATABASE_URL', env.databaseUrl), null),
    migrationUrl: take(decideDatabase('DATABASE_MIGRATION_URL', env.migrationUrl), null),
    databasePool: take(decidePool(env.databasePool), DEFAULT_POOL),
    listen,
    metricsListen: take(decideMetrics(env.metricsListen), null),
    publicUrl: take(decidePublicUrl(env.publicUrl, listen, tlsFiles !== null), ''),
    trustedProxies: take(decideProxies(env.trustedProxy), []),
    webhookNetworks: take(decideWebhookNetworks(env.webhookNetworks), []),
    mail: take(decideMail(env), null),
    tlsFiles,
    linkSocket:
      env.linkSocket === null ? join(dataDir, 'link', 'control.sock') : resolve(env.linkSocket),
    nodeSocket:
      env.nodeSocket === null
        ? join(dataDir, 'node-link', 'control.sock')
        : resolve(env.nodeSocket),
    account: env.account,
    awaitsFleet: env.awaitFleet !== null,
    logLevel: take(decideLogLevel(env.logLevel), 'info'),
  };
  return problems.length === 0 ? ok(config) : no(problems.join('\n'));
}

function dataDirectory(env: ControlEnvironment, isRoot: boolean): string {
  if (env.data !== null) return resolve(env.data);
  if (isRoot) return '/var/lib/portcullis';
  return join(env.stateHome ?? join(env.home ?? '.', '.local', 'state'), 'portcullis');
}

/** Parses HOST:PORT, [IPv6]:PORT or :PORT (loopback); port 0 to 65535. */
export function parseListen(
  name: string,
  text: string | null,
  otherwise: ListenAddress,
): Parsed<ListenAddress> {
  if (text === null) return ok(otherwise);
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:\s[\]]*)):(\d{1,5})$/.exec(text);
  const [, bracketed, plain, digits] = match ?? [];
  const port = Number(digits);
  if (match === null || port > 65_535 || (bracketed !== undefined && !isIPv6(bracketed))) {
    return no(`${name}: "${text}" is not HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080.`);
  }
  return ok({ host: bracketed ?? (plain || otherwise.host), port });
}

function decideMetrics(text: string | null): Parsed<ListenAddress | null> {
  if (text === 'off') return ok(null);
  return parseListen('PORTCULLIS_METRICS_LISTEN', text, DEFAULT_METRICS_LISTEN);
}

function decidePool(text: string | null): Parsed<number> {
  if (text === null) return ok(DEFAULT_POOL);
  const size = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  return size >= MIN_POOL && size <= MAX_POOL
    ? ok(size)
    : no(`PORTCULLIS_DATABASE_POOL: "${text}" is not a number from ${MIN_POOL} to ${MAX_POOL}.`);
}

function decideDatabase(name: string, text: string | null): Parsed<string | null> {
  if (text === null) return ok(null);
  // The message does not quote the URL, because it may contain a password.
  return /^postgres(?:ql)?:\/\//.test(text) &&
    URL.canParse(text.replace(/^(\w+:\/\/)(?=\/)/, '$1localhost'))
    ? ok(text)
    : no(`${name} is not a URL such as postgresql://user:password@host:5432/database.`);
}

function decidePublicUrl(text: string | null, listen: ListenAddress, tls: boolean): Parsed<string> {
  if (text === null) {
    const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
    return ok(`${tls ? 'https' : 'http'}://${host}:${listen.port}`);
  }
  const url = URL.parse(text);
  const plain =
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.username + url.password + url.search + url.hash === '';
  if (!plain) {
    return no(`PORTCULLIS_PUBLIC_URL: "${text}" is not like https://portcullis.example.net.`);
  }
  return ok(url.origin + url.pathname.replace(/\/+$/, ''));
}

function decideProxies(text: string | null): Parsed<readonly string[]> {
  const proxies = itemsOf(text);
  const wrong = proxies.filter((item) => canonicalAddress(item) === null && !parseCidr(item).ok);
  return wrong.length === 0
    ? ok(proxies)
    : no(`PORTCULLIS_TRUSTED_PROXY: ${wrong.join(', ')}: neither an address nor a CIDR.`);
}

function decideWebhookNetworks(text: string | null): Parsed<readonly Cidr[]> {
  const networks: Cidr[] = [];
  for (const item of itemsOf(text)) {
    const network = parseCidr(item);
    if (!network.ok) return no(`PORTCULLIS_WEBHOOK_NETWORKS: ${item}: ${network.reason}.`);
    networks.push(network.value);
  }
  return ok(networks);
}

const MAIL_ADDRESS = /^[^\s@<>,]+@[^\s@<>,]+$/;

/** The messages do not quote the URL, because it may contain a password. */
function decideMail({ smtpUrl, mailFrom }: ControlEnvironment): Parsed<MailConfig | null> {
  if (smtpUrl === null) return ok(null);
  const url = URL.parse(smtpUrl);
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === '') {
    return no(
      'PORTCULLIS_SMTP_URL is not a URL such as smtp://user:password@mail.example.net:587.',
    );
  }
  if (mailFrom === null || !MAIL_ADDRESS.test(mailFrom)) {
    return no('PORTCULLIS_MAIL_FROM must be the address that mail comes from.');
  }
  return ok({ url: smtpUrl, from: mailFrom });
}

function itemsOf(text: string | null): string[] {
  const items = (text ?? '').split(',').map((item) => item.trim());
  return items.filter((item) => item !== '');
}

function decideTls({
  tlsCert,
  tlsKey,
}: ControlEnvironment): Parsed<{ cert: string; key: string } | null> {
  if (tlsCert === null && tlsKey === null) return ok(null);
  if (tlsCert === null || tlsKey === null) {
    return no('TLS needs both PORTCULLIS_TLS_CERT and PORTCULLIS_TLS_KEY.');
  }
  return ok({ cert: resolve(tlsCert), key: resolve(tlsKey) });
}

function decideLogLevel(text: string | null): Parsed<string> {
  if (text === null || LOG_LEVELS.includes(text)) return ok(text ?? 'info');
  return no(`PORTCULLIS_LOG_LEVEL: "${text}" is none of ${LOG_LEVELS.join(', ')}.`);
}

function ok<T>(value: T): Parsed<T> {
  return { ok: true, value };
}
function no<T>(reason: string): Parsed<T> {
  return { ok: false, reason };
}
