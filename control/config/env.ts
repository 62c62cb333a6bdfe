/** The environment variables as text; null when unset. Nothing else in control reads them. */
export interface ControlEnvironment {
  /** `DATABASE_URL`: a PostgreSQL of the operator; without it, control runs an embedded one. */
  readonly databaseUrl: string | null;
  /** `DATABASE_MIGRATION_URL`: the same database as a role that may create tables. */
  readonly migrationUrl: string | null;
  /** `PORTCULLIS_DATABASE_POOL`: connections to the database at most. */
  readonly databasePool: string | null;
  /** `PORTCULLIS_DATA`: the data directory. */
  readonly data: string | null;
  /** `PORTCULLIS_LISTEN`: HOST:PORT of the API. */
  readonly listen: string | null;
  /** `PORTCULLIS_METRICS_LISTEN`: HOST:PORT of /metrics, or `off`. */
  readonly metricsListen: string | null;
  /** `PORTCULLIS_PUBLIC_URL`: base of absolute links. */
  readonly publicUrl: string | null;
  /** `PORTCULLIS_TRUSTED_PROXY`: addresses and CIDRs, separated by commas. */
  readonly trustedProxy: string | null;
  /** `PORTCULLIS_WEBHOOK_NETWORKS`: CIDRs that webhooks may reach though not public, separated by commas. */
  readonly webhookNetworks: string | null;
  /** `PORTCULLIS_SMTP_URL` and `PORTCULLIS_MAIL_FROM`: the mail server, and the sender of mail. */
  readonly smtpUrl: string | null;
  readonly mailFrom: string | null;
  /** `PORTCULLIS_TLS_CERT` and `PORTCULLIS_TLS_KEY`: PEM files. */
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  /** `PORTCULLIS_LINK_SOCKET`: Unix socket for edges of this host. */
  readonly linkSocket: string | null;
  /** `PORTCULLIS_NODE_SOCKET`: Unix socket for nodes of this host. */
  readonly nodeSocket: string | null;
  /** `PORTCULLIS_ACCOUNT`: the account to switch to when started as root. */
  readonly account: string | null;
  /** `PORTCULLIS_AWAIT_FLEET`, set by `up`: control is not ready before `up` has applied the fleet file. */
  readonly awaitFleet: string | null;
  /** `PORTCULLIS_LOG_LEVEL`. */
  readonly logLevel: string | null;
  /** `XDG_STATE_HOME` and `HOME`: the default location of data. */
  readonly stateHome: string | null;
  readonly home: string | null;
}

export function readEnvironment(
  env: Readonly<Record<string, string | undefined>> = process.env,
): ControlEnvironment {
  const text = (name: string): string | null => env[name]?.trim() || null;
  return {
    databaseUrl: text('DATABASE_URL'),
    migrationUrl: text('DATABASE_MIGRATION_URL'),
    databasePool: text('PORTCULLIS_DATABASE_POOL'),
    data: text('PORTCULLIS_DATA'),
    listen: text('PORTCULLIS_LISTEN'),
    metricsListen: text('PORTCULLIS_METRICS_LISTEN'),
    publicUrl: text('PORTCULLIS_PUBLIC_URL'),
    trustedProxy: text('PORTCULLIS_TRUSTED_PROXY'),
    webhookNetworks: text('PORTCULLIS_WEBHOOK_NETWORKS'),
    smtpUrl: text('PORTCULLIS_SMTP_URL'),
    mailFrom: text('PORTCULLIS_MAIL_FROM'),
    tlsCert: text('PORTCULLIS_TLS_CERT'),
    tlsKey: text('PORTCULLIS_TLS_KEY'),
    linkSocket: text('PORTCULLIS_LINK_SOCKET'),
    nodeSocket: text('PORTCULLIS_NODE_SOCKET'),
    account: text('PORTCULLIS_ACCOUNT'),
    awaitFleet: text('PORTCULLIS_AWAIT_FLEET'),
    logLevel: text('PORTCULLIS_LOG_LEVEL'),
    stateHome: text('XDG_STATE_HOME'),
    home: text('HOME'),
  };
}
