import { callbackify } from 'node:util';
import pg from 'pg';
import { parseServerUrl, type ServerUrl } from './server-url.ts';

/** All probes together end before the timeout of a connection. */
const PROBES_MS = 8_000;

type Connected = (error: Error | null, client?: pg.Client) => void;

/** The server of each URL that was found last. It is tried first. */
const found = new Map<string, number>();

/**
 * A pg.Client that takes a URL of several hosts. It connects to the first that accepts a connection and has the state that
 * the URL asks for.
 */
export class DatabaseClient extends pg.Client {
  readonly #config: pg.ClientConfig;
  readonly #url: ServerUrl | null;

  constructor(config: string | pg.ClientConfig = {}) {
    const options = typeof config === 'string' ? { connectionString: config } : config;
    const { connectionString: text } = options;
    const url = text === undefined ? null : parseServerUrl(text);
    super(url === null ? options : { ...options, connectionString: url.servers[0].url });
    this.#config = options;
    this.#url = url;
    // A connection that breaks between two queries must not end the process, also while a pool has lent it: the next
    // query rejects.
    this.on('error', () => {});
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    const connect = async (): Promise<pg.Client> => {
      await this.#choose();
      await super.connect();
      return this;
    };
    if (callback === undefined) return connect();
    callbackify(connect)(callback);
    return undefined;
  }

  /** Finds the server to connect to, unless there is one alone in any state. */
  async #choose(): Promise<void> {
    const { servers, wanted } = this.#url ?? { servers: [], wanted: 'any' };
    if (servers.length < 2 && wanted === 'any') return;
    const key = this.#config.connectionString ?? '';
    const last = found.get(key) ?? 0;
    const reasons: unknown[] = [];
    for (const index of new Set([last, ...servers.keys()])) {
      const server = servers[index];
      if (server === undefined) continue;
      try {
        await this.#probe(server.url, wanted, PROBES_MS / servers.length);
        found.set(key, index);
        const { host, port } = server;
        // The driver reads them when it connects.
        Object.assign(this, { host, port });
        return;
      } catch (error) {
        reasons.push(error);
      }
    }
    throw new NoServerError(reasons);
  }

  /** Throws why a server is not the one that the URL asks for. */
  async #probe(url: string, wanted: ServerUrl['wanted'], timeoutMs: number): Promise<void> {
    const probe = new pg.Client({
      ...this.#config,
      connectionString: url,
      connectionTimeoutMillis: timeoutMs,
    });
    probe.on('error', () => {});
    try {
      await probe.connect();
      if (wanted === 'any') return;
      const { rows } = await probe.query<{ standby: boolean; readOnly: string }>(
        `select pg_is_in_recovery() as standby,
                current_setting('default_transaction_read_only') as "readOnly"`,
      );
      const [{ standby, readOnly } = { standby: true, readOnly: 'on' }] = rows;
      if (standby) throw new Error('a standby');
      if (wanted === 'read-write' && readOnly === 'on') throw new Error('read-only');
    } finally {
      await probe.end().catch(() => {});
    }
  }
}

/** No host of the URL is usable now; `errors` has the reason of each. */
class NoServerError extends AggregateError {
  /** The SQLSTATE of a client that cannot connect. */
  readonly code = '08001';

  constructor(reasons: readonly unknown[]) {
    const texts = reasons.map((reason) => (reason instanceof Error ? reason.message : ''));
    super(reasons, `no host of the database can be used: ${texts.join('; ')}`);
    this.name = 'NoServerError';
  }
}
