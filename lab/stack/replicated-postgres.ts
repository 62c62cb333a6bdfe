import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import {
  type Account,
  giveTo,
  provideAccount,
  spawnAs,
} from '@portcullis/control/db/embedded/account.ts';
import { provideBinaries } from '@portcullis/control/db/embedded/binaries.ts';
import { CLEAN_ENVIRONMENT, provideCluster } from '@portcullis/control/db/embedded/cluster.ts';
import { socketUrl } from '@portcullis/control/db/embedded/data-directory.ts';
import { SUPERUSER } from '@portcullis/control/db/embedded/roles.ts';
import { scratchRoot } from '@portcullis/control/db/scratch.ts';
import { ended } from './stack.ts';

const START_MS = 120_000;
const POLL_MS = 20;
const DATABASE = 'portcullis';

type Name = 'first' | 'second';

/**
 * A primary PostgreSQL with a synchronous standby, which takes over its address. The address is a link to the folder of
 * the socket of one of them: it stands for what moves between hosts, such as a virtual address.
 */
export class ReplicatedPostgres {
  readonly #home = mkdtempSync(join(scratchRoot(), 'portcullis-replicated-'));
  readonly #account: Account | null = process.getuid?.() === 0 ? provideAccount() : null;
  readonly #postgres: string;
  readonly #servers: ChildProcess[] = [];
  readonly url = socketUrl(this.#at('address'), DATABASE, SUPERUSER);

  /** The sockets of both servers, the standby first. */
  readonly sockets = [this.#at('second.socket'), this.#at('first.socket')] as const;

  static async start(): Promise<ReplicatedPostgres> {
    const one = new ReplicatedPostgres();
    try {
      await one.#start();
    } catch (error) {
      await one.stop();
      throw error;
    }
    return one;
  }

  private constructor() {
    // Its account and the one of control must be able to enter.
    chmodSync(this.#home, 0o711);
    const binaries = provideBinaries(this.#home, this.#account);
    this.#postgres = binaries.postgres;
    const layout = {
      dataDir: this.#home,
      cluster: this.#at('first'),
      socketDir: this.#at('first.socket'),
      logFile: this.#at('first.log'),
    };
    provideCluster(layout, binaries, this.#account, false);
  }

  async #start(): Promise<void> {
    writeFileSync(
      join(this.#at('first'), 'pg_hba.conf'),
      'local all all trust\nlocal replication all trust\n',
    );
    // Copied while it does not run, because the package has no pg_basebackup.
    spawnSync('cp', ['-a', this.#at('first'), this.#at('second')]);
    await this.#launch('first');
    await this.#query('first', `create database ${DATABASE}`);
    writeFileSync(join(this.#at('second'), 'standby.signal'), '');
    await this.#launch(
      'second',
      `primary_conninfo=host=${this.#at('first.socket')} user=${SUPERUSER}`,
    );
    await this.#query('first', "alter system set synchronous_standby_names = '*'");
    await this.#query('first', 'select pg_reload_conf()');
    await this.#until('first', "select from pg_stat_replication where sync_state = 'sync'");
    this.#address('first');
  }

  /** The primary is killed, as with its host, and the standby takes over. */
  async failOver(): Promise<void> {
    const [first] = this.#servers;
    if (first === undefined) throw new Error('it does not run');
    first.kill('SIGKILL');
    await ended(first);
    await this.#query('second', 'select pg_promote()');
    this.#address('second');
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) {
      server.kill('SIGQUIT');
      await ended(server);
    }
    rmSync(this.#home, { recursive: true, force: true });
  }

  #at(name: string): string {
    return join(this.#home, name);
  }

  #address(server: Name): void {
    symlinkSync(this.#at(`${server}.socket`), this.#at('address.new'));
    renameSync(this.#at('address.new'), this.#at('address'));
  }

  async #launch(server: Name, ...settings: readonly string[]): Promise<void> {
    const socketDir = this.#at(`${server}.socket`);
    mkdirSync(socketDir);
    giveTo(this.#account, socketDir);
    const log = openSync(this.#at(`${server}.log`), 'a');
    const fixed = ['listen_addresses=', `unix_socket_directories=${socketDir}`, 'fsync=off'];
    const options = [...fixed, ...settings].flatMap((setting) => ['-c', setting]);
    const child = spawn(this.#postgres, ['-D', this.#at(server), ...options], {
      ...spawnAs(this.#account),
      cwd: this.#home,
      env: CLEAN_ENVIRONMENT,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#servers.push(child);
    await this.#until(server, 'select');
  }

  async #query(server: Name, text: string): Promise<number> {
    const url = socketUrl(this.#at(`${server}.socket`), 'postgres', SUPERUSER);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(text)).rowCount ?? 0;
    } finally {
      await client.end();
    }
  }

  /** Waits until the query has a row. */
  async #until(server: Name, text: string): Promise<void> {
    const until = performance.now() + START_MS;
    for (;;) {
      const rows = await this.#query(server, text).catch(() => 0);
      if (rows > 0) return;
      if (performance.now() > until) {
        throw new Error(`PostgreSQL: ${readFileSync(this.#at(`${server}.log`), 'utf8')}`);
      }
      await delay(POLL_MS);
    }
  }
}
