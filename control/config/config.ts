import { isIPv6 } from 'node:net';
import { join, resolve } from 'node:path';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { type Cidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Parsed } from '@portcullis/core/net/parsed.ts';
import { isLoopbackHost } from '@portcullis/core/net/public-address.ts';
import { DEFAULT_LISTEN, DEFAULT_METRICS_LISTEN } from '../http/server/config.ts';
import { parseServerUrl } from '../db/server-url.ts';
import type { MailConfig } from '../mail/index.ts';
import type { AutomaticTlsConfig } from '../tls-auto/automatic-tls.ts';

export interface ListenAddress {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
}

/** The configuration of control: values only, no file read or opened yet. */
export interface ControlConfig {
  /** `PORTCULLIS_DATA`; by default below `XDG_STATE_HOME` or `HOME`. */
  readonly dataDir: string;
  /** `DATABASE_URL`. Null means the embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | null;
  /**
   * `DATABASE_MIGRATION_URL`: the same database as a role that may create tables; null means the role of
   * `databaseUrl`.
   */
  readonly migrationUrl: string | null;
  /** `PORTCULLIS_DATABASE_POOL`: connections to the database at most. */
  readonly databasePool: number;
  /** `PORTCULLIS_LISTEN`: HOST:PORT of the API. */
  readonly listen: ListenAddress;
  /** `PORTCULLIS_METRICS_LISTEN`: HOST:PORT of /metrics, or `off`, which is null. */
  readonly metricsListen: ListenAddress | null;
  /** `PORTCULLIS_PUBLIC_URL`: the base of absolute links, without a trailing slash. */
  readonly publicUrl: string;
  /** `PORTCULLIS_REPLICA_URL`: where nodes of other hosts reach this very replica; by default `publicUrl`. */
  readonly replicaUrl: string;
  /** `PORTCULLIS_TRUSTED_PROXY`: addresses and CIDRs, separated by commas. */
  readonly trustedProxies: readonly string[];
  /** `PORTCULLIS_WEBHOOK_NETWORKS`: networks that webhooks may reach though they are not public. */
  readonly webhookNetworks: readonly Cidr[];
  /** `PORTCULLIS_SMTP_URL` and `PORTCULLIS_MAIL_FROM`. Null: no mail is sent. */
  readonly mail: MailConfig | null;
  /** `PORTCULLIS_TLS_CERT` and `PORTCULLIS_TLS_KEY`: paths of PEM files; null means plain HTTP. */
  readonly tlsFiles: { readonly cert: string; readonly key: string } | null;
  /**
   * `PORTCULLIS_TLS_AUTO`, `PORTCULLIS_ACME_DIRECTORY`, `PORTCULLIS_ACME_LISTEN`: a certificate by ACME. Null: none
   * is ordered.
   */
  readonly tlsAuto: AutomaticTlsConfig | null;
  /** `PORTCULLIS_LINK_SOCKET`: Unix socket for edges of this host. */
  readonly linkSocket: string;
  /** `PORTCULLIS_NODE_SOCKET`: Unix socket for nodes of this host. */
  readonly nodeSocket: string;
  /** `PORTCULLIS_NATS`: URLs of NATS servers, separated by commas; none: agents are served on the sockets alone. */
  readonly natsServers: readonly string[];
  /**
   * `PORTCULLIS_NATS_OWN`, set by `up`: by which this control reaches the server beside it, whatever its name
   * resolves to here.
   */
  readonly ownNats: string | null;
  /** `PORTCULLIS_ACCOUNT`: the account to switch to when started as root; null lets embedded/account.ts choose. */
  readonly account: string | null;
  /** `PORTCULLIS_LOG_LEVEL`. */
  readonly logLevel: string;
  /** `PORTCULLIS_PROGRAM`, set by `up`: how its operator calls the command, such as `./portcullis`. */
  readonly program: string;
  /** `PORTCULLIS_ENFORCE_COMMAND`, set by `up`: the whole command that enforces what it observes. */
  readonly enforceCommand: string | null;
  /** `PORTCULLIS_AWAIT_FLEET`, set by `up`: not ready before `up` has applied the fleet file. */
  readonly awaitsFleet: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The trimmed value of a variable; null when it is unset or blank. */
export function readVariable(env: Environment, name: string): string | null {
  return env[name]?.trim() || null;
}

const DEFAULT_POOL = 10;
/** Syncs of edges hold six, and need another one while they begin. */
const MIN_POOL = 8;
const MAX_POOL = 1_000;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/** Parses the environment. Reports all mistakes at once, one per line. */
export function decideConfig(
  env: Environment,
  options: { readonly isRoot: boolean },
): Parsed<ControlConfig> {
  const problems: string[] = [];
  const take = <T>(parsed: Parsed<T>, otherwise: T): T => {
    if (parsed.ok) return parsed.value;
    problems.push(parsed.reason);
    return otherwise;
  };
  const text = (name: string): string | null => readVariable(env, name);
  const dataDir = dataDirectory(env, options.isRoot);
  const listen = take(
    parseListen('PORTCULLIS_LISTEN', text('PORTCULLIS_LISTEN'), DEFAULT_LISTEN),
    DEFAULT_LISTEN,
  );
  const tlsFiles = take(decideTls(text('PORTCULLIS_TLS_CERT'), text('PORTCULLIS_TLS_KEY')), null);
  const publicUrl = decidePublicUrl(text('PORTCULLIS_PUBLIC_URL'), listen, tlsFiles !== null);
  const tlsAuto = take(
    decideTlsAuto(text, { listen, publicUrl: publicUrl.ok ? publicUrl.value : '', tlsFiles }),
    null,
  );
  const config: ControlConfig = {
    dataDir,
    databaseUrl: take(decideDatabase('DATABASE_URL', text('DATABASE_URL')), null),
    migrationUrl: take(
      decideDatabase('DATABASE_MIGRATION_URL', text('DATABASE_MIGRATION_URL')),
      null,
    ),
    databasePool: take(decidePool(text('PORTCULLIS_DATABASE_POOL')), DEFAULT_POOL),
    listen,
    metricsListen: take(decideMetrics(text('PORTCULLIS_METRICS_LISTEN')), null),
    publicUrl: take(publicUrl, ''),
    replicaUrl: take(decideReplicaUrl(text('PORTCULLIS_REPLICA_URL'), publicUrl), ''),
    trustedProxies: take(decideProxies(text('PORTCULLIS_TRUSTED_PROXY')), []),
    webhookNetworks: take(decideWebhookNetworks(text('PORTCULLIS_WEBHOOK_NETWORKS')), []),
    mail: take(decideMail(text('PORTCULLIS_SMTP_URL'), text('PORTCULLIS_MAIL_FROM')), null),
    tlsFiles,
    tlsAuto,
    linkSocket: resolve(text('PORTCULLIS_LINK_SOCKET') ?? join(dataDir, 'link', 'control.sock')),
    nodeSocket: resolve(
      text('PORTCULLIS_NODE_SOCKET') ?? join(dataDir, 'node-link', 'control.sock'),
    ),
    natsServers: take(decideNats(text('PORTCULLIS_NATS')), []),
    account: text('PORTCULLIS_ACCOUNT'),
    ...givenByUp(text),
    logLevel: take(decideLogLevel(text('PORTCULLIS_LOG_LEVEL')), 'info'),
  };
  return problems.length === 0 ? ok(config) : no(problems.join('\n'));
}

type GivenByUp = Pick<ControlConfig, 'ownNats' | 'program' | 'enforceCommand' | 'awaitsFleet'>;

function givenByUp(text: (name: string) => string | null): GivenByUp {
  return {
    ownNats: text('PORTCULLIS_NATS_OWN'),
    program: text('PORTCULLIS_PROGRAM') ?? 'portcullis',
    enforceCommand: text('PORTCULLIS_ENFORCE_COMMAND'),
    awaitsFleet: text('PORTCULLIS_AWAIT_FLEET') !== null,
  };
}

function dataDirectory(env: Environment, isRoot: boolean): string {
  const data = readVariable(env, 'PORTCULLIS_DATA');
  if (data !== null) return resolve(data);
  if (isRoot) return '/var/lib/portcullis';
  const home = readVariable(env, 'HOME') ?? '.';
  return join(readVariable(env, 'XDG_STATE_HOME') ?? join(home, '.local', 'state'), 'portcullis');
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
  return parseServerUrl(text) === null
    ? no(
        `${name} is not a URL such as postgresql://user:password@host:5432/database. Several hosts stand with commas; target_session_attrs is any, primary or read-write.`,
      )
    : ok(text);
}

function decidePublicUrl(text: string | null, listen: ListenAddress, tls: boolean): Parsed<string> {
  if (text === null) {
    const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
    return ok(`${tls ? 'https' : 'http'}://${host}:${listen.port}`);
  }
  const url = parsePlainUrl(text);
  if (url !== null) return ok(url);
  return no(`PORTCULLIS_PUBLIC_URL: "${text}" is not like https://portcullis.example.net.`);
}

function decideReplicaUrl(text: string | null, publicUrl: Parsed<string>): Parsed<string> {
  if (text === null) return ok(publicUrl.ok ? publicUrl.value : '');
  const url = parsePlainUrl(text);
  if (url !== null) return ok(url);
  return no(`PORTCULLIS_REPLICA_URL: "${text}" is not like https://replica-1.example.net:8443.`);
}

/** A URL without credentials, query and a slash at its end; null for anything else. */
function parsePlainUrl(text: string): string | null {
  const url = URL.parse(text);
  const isPlain =
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.username + url.password + url.search + url.hash === '';
  return isPlain ? url.origin + url.pathname.replace(/\/+$/, '') : null;
}

/** `none` says that there is no proxy, where a deployment asks for a word. */
function decideProxies(text: string | null): Parsed<readonly string[]> {
  if (text === 'none') return ok([]);
  const proxies = itemsOf(text);
  const wrong = proxies.filter((item) => canonicalAddress(item) === null && !parseCidr(item).ok);
  const everybody = proxies.find((item) => item.endsWith('/0'));
  if (everybody !== undefined) {
    return no(
      `PORTCULLIS_TRUSTED_PROXY: ${everybody} is everybody, who could then claim any address. Name the network of the proxy alone.`,
    );
  }
  return wrong.length === 0
    ? ok(proxies)
    : no(
        `PORTCULLIS_TRUSTED_PROXY: ${wrong.join(', ')}: neither an address nor a CIDR, nor "none".`,
      );
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

/** A URL that is not encrypted must not leave this host. */
function decideNats(text: string | null): Parsed<readonly string[]> {
  const servers = itemsOf(text);
  for (const server of servers) {
    const url = URL.parse(server);
    const isPlain = url?.protocol === 'nats:' && isLoopbackHost(url.hostname);
    const known = url?.protocol === 'tls:' || isPlain;
    if (!known || url === null || url.hostname === '' || url.username + url.password !== '') {
      return no(
        `PORTCULLIS_NATS: "${server}" is not like tls://nats.example.net:4222, or nats://127.0.0.1:4222 on this host.`,
      );
    }
  }
  return ok(servers);
}

const MAIL_ADDRESS = /^[^\s@<>,]+@[^\s@<>,]+$/;

/** The messages do not quote the URL, because it may contain a password. */
function decideMail(smtpUrl: string | null, mailFrom: string | null): Parsed<MailConfig | null> {
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

function decideTls(
  cert: string | null,
  key: string | null,
): Parsed<{ cert: string; key: string } | null> {
  if (cert === null && key === null) return ok(null);
  if (cert === null || key === null) {
    return no('TLS needs both PORTCULLIS_TLS_CERT and PORTCULLIS_TLS_KEY.');
  }
  return ok({ cert: resolve(cert), key: resolve(key) });
}

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory';
const DOMAIN = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/;

function decideTlsAuto(
  text: (name: string) => string | null,
  { listen, publicUrl, tlsFiles }: Pick<ControlConfig, 'listen' | 'publicUrl' | 'tlsFiles'>,
): Parsed<AutomaticTlsConfig | null> {
  const wanted = text('PORTCULLIS_TLS_AUTO');
  if (wanted === null) return ok(null);
  if (tlsFiles !== null) {
    return no('PORTCULLIS_TLS_AUTO orders a certificate: leave out PORTCULLIS_TLS_CERT.');
  }
  if (wanted !== 'on' && !MAIL_ADDRESS.test(wanted)) {
    return no(
      'PORTCULLIS_TLS_AUTO is "on", or the address that the certificate authority writes to.',
    );
  }
  const url = URL.parse(publicUrl);
  if (url?.protocol !== 'https:' || !DOMAIN.test(url.hostname)) {
    return no(
      'PORTCULLIS_TLS_AUTO needs PORTCULLIS_PUBLIC_URL with a name that resolves to this host, such as https://portcullis.example.net.',
    );
  }
  const directoryUrl = text('PORTCULLIS_ACME_DIRECTORY') ?? LETS_ENCRYPT;
  if (URL.parse(directoryUrl)?.protocol !== 'https:') {
    return no('PORTCULLIS_ACME_DIRECTORY is not the https URL of an ACME directory.');
  }
  const httpListen = parseListen('PORTCULLIS_ACME_LISTEN', text('PORTCULLIS_ACME_LISTEN'), {
    host: listen.host,
    port: 80,
  });
  if (!httpListen.ok) return httpListen;
  const email = wanted === 'on' ? null : wanted;
  return ok({ domain: url.hostname, email, directoryUrl, httpListen: httpListen.value });
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

/** The hosts that this control is reached at and that it uses, as names or addresses. */
export function ownHosts(config: ControlConfig): string[] {
  const { publicUrl, listen, natsServers, databaseUrl, migrationUrl, mail } = config;
  const urls = [publicUrl, ...natsServers, mail?.url];
  const hosts = urls.map((url) => URL.parse(url ?? '')?.hostname ?? '');
  const databases = [databaseUrl, migrationUrl].flatMap(
    (url) => parseServerUrl(url ?? '')?.servers.map(({ host }) => host) ?? [],
  );
  // A folder of a Unix socket is no host.
  return [listen.host, ...hosts, ...databases].filter(
    (host) => host !== '' && !host.startsWith('/'),
  );
}
