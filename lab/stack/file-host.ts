import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { programOf } from '@portcullis/cli/agents/processes.ts';
import { freePort } from '@portcullis/cli/testing/free-port.ts';
import { createKey } from '@portcullis/control/access/index.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import { scratchRoot } from '@portcullis/control/db/scratch.ts';
import { type Lifetime, testDatabase } from '@portcullis/control/db/testing.ts';
import { addNode, addServer, uuidOf } from '@portcullis/control/game-servers/testing/servers.ts';
import { ensureInstallation, remoteCredential } from '@portcullis/control/nats/installation.ts';
import { formatCredential } from '@portcullis/link/credential.ts';
import { EGG } from '@portcullis/node/testing/eggs.ts';
import { sql } from 'kysely';
import { NatsServer } from './nats-server.ts';

const PATIENCE_MS = 120_000;
const AGAIN_MS = 50;

export interface FileHostOptions {
  /** Replicas of control. Default: 1. */
  readonly replicas?: number;
  /** Nodes reach control over NATS, as those of other hosts do. Default: by its socket. */
  readonly overNats?: boolean;
  /** Whether the files are on a disk, where others are in memory. */
  readonly onDisk?: boolean;
  /** Whether each node serves SFTP. */
  readonly sftp?: boolean;
  /** The URL that links to files of the node begin with. Default: it serves none. */
  readonly linkUrl?: string;
  /** Nodes of real programs, on which the test makes servers itself. Default: one node, with the server that does not run. */
  readonly gameNodes?: number;
  /** MiB; default: more than any test writes. */
  readonly diskMib?: number;
}

/**
 * Processes of control, of nodes and perhaps of NATS on this host, with a server whose files are real and that does not
 * run. Each of them can be killed and started again.
 */
export class FileHost {
  static async start(life: Lifetime, options: FileHostOptions = {}): Promise<FileHost> {
    const { db, url } = await testDatabase(life);
    const root = options.onDisk === true ? tmpdir() : scratchRoot();
    const home = mkdtempSync(join(root, 'portcullis-file-host-'));
    chmodSync(home, 0o711);
    const host = new FileHost({ db, databaseUrl: url, home, options });
    try {
      await host.#begin();
    } catch (error) {
      await host.stop();
      throw error;
    }
    return host;
  }

  readonly uuid = uuidOf(1);
  readonly db: Db;
  readonly #databaseUrl: string;
  readonly #home: string;
  readonly #options: FileHostOptions;
  readonly #controls = new Map<number, ChildProcess>();
  readonly #ports: number[] = [];
  readonly #nodes = new Map<number, ChildProcess>();
  readonly #credentials: string[] = [];
  /** The port of SFTP of each node. */
  readonly sftpPorts: number[] = [];
  #nats: NatsServer | null = null;
  key = '';
  linkPort = 0;

  private constructor(of: {
    readonly db: Db;
    readonly databaseUrl: string;
    readonly home: string;
    readonly options: FileHostOptions;
  }) {
    this.db = of.db;
    this.#databaseUrl = of.databaseUrl;
    this.#home = of.home;
    this.#options = of.options;
  }

  /** The URL of a replica. */
  url(replica = 0): string {
    return `http://127.0.0.1:${this.#ports[replica]}`;
  }

  /** The folder of the server. */
  get folder(): string {
    return join(this.#home, 'node', 'servers', this.uuid);
  }

  /** A folder that is removed with this. */
  get home(): string {
    return this.#home;
  }

  get nodePid(): number {
    return this.#nodes.get(0)?.pid ?? 0;
  }

  /** The port of SFTP of the first node. */
  get sftpPort(): number {
    return this.sftpPorts[0] ?? 0;
  }

  controlPid(replica = 0): number {
    return this.#controls.get(replica)?.pid ?? 0;
  }

  /** Calls an operation on a server's files: `content?path=a`. */
  call(
    path: string,
    init: RequestInit & { readonly duplex?: 'half' } = {},
    replica = 0,
    uuid = this.uuid,
  ) {
    return fetch(`${this.url(replica)}/api/x1/game-servers/${uuid}/files${path}`, {
      ...init,
      headers: { authorization: `Bearer ${this.key}`, ...(init.headers as object) },
    });
  }

  async startControl(replica = 0): Promise<void> {
    const data = join(this.#home, `control-${replica}`);
    mkdirSync(data, { recursive: true });
    chmodSync(data, 0o777);
    // Its account may not enter a checkout that is closed to others.
    const [program, args] = programOf('control');
    const child = spawn(program, args, {
      env: {
        ...process.env,
        PORTCULLIS_DATA: data,
        DATABASE_URL: this.#databaseUrl,
        PORTCULLIS_LISTEN: `127.0.0.1:${this.#ports[replica]}`,
        PORTCULLIS_METRICS_LISTEN: 'off',
        PORTCULLIS_LOG_LEVEL: 'warn',
        ...(this.#nats !== null && { PORTCULLIS_NATS: this.#nats.url }),
      },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#controls.set(replica, child);
    await ready(child, 'control');
  }

  /** Starts a node, and waits until it serves the files of its server. */
  async startNode(node = 0): Promise<void> {
    const hasGames = this.#options.gameNodes !== undefined;
    const config = {
      name: nameOf(node),
      linkPath: join(this.#home, 'control-0', 'node-link', 'control.sock'),
      credential: this.#credentials[node],
      stateDir: join(this.#home, node === 0 ? 'node' : nameOf(node)),
      sftpPort: this.#options.sftp === true ? 0 : null,
      linkUrl: this.#options.linkUrl ?? null,
      hasGames,
    };
    mkdirSync(config.stateDir, { recursive: true });
    const child = fork(join(import.meta.dirname, 'file-node-process.ts'), {
      env: { ...process.env, FILE_NODE: JSON.stringify(config) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#nodes.set(node, child);
    const { sftpPort, linkPort } = await ready(child, config.name);
    this.sftpPorts[node] = sftpPort ?? 0;
    this.linkPort = linkPort ?? 0;
    if (!hasGames) await this.serving();
  }

  /** Waits until every replica that runs gets answers about the files of a server. */
  async serving(uuid = this.uuid): Promise<void> {
    const untilMs = performance.now() + PATIENCE_MS;
    for (const [replica, child] of this.#controls) {
      for (; isRunning(child); await delay(AGAIN_MS)) {
        const status = await this.call('', {}, replica, uuid).then(
          (response) => response.status,
          () => 0,
        );
        if (status === 200) break;
        if (performance.now() > untilMs) throw new Error(`the files answer ${status}`);
      }
    }
  }

  async startNats(): Promise<void> {
    await this.#nats?.start();
  }

  /** Ends a process as a crash would. */
  async kill(what: 'node' | 'nats' | 'control', replica = 0): Promise<void> {
    if (what === 'nats') return this.#nats?.kill();
    await end(
      (what === 'node' ? this.#nodes.get(0) : this.#controls.get(replica)) ?? null,
      'SIGKILL',
    );
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map((child) => end(child, 'SIGTERM')));
    await Promise.all([...this.#controls.values()].map((child) => end(child, 'SIGTERM')));
    await this.#nats?.stop();
    rmSync(this.#home, { recursive: true, force: true });
  }

  async #begin(): Promise<void> {
    const { replicas = 1, overNats = false, diskMib = 65_536, gameNodes } = this.#options;
    const { db } = this;
    await fill(db);
    const nodes = Array.from({ length: gameNodes ?? 1 }, (_, node) => nameOf(node));
    const identity = overNats ? await ensureInstallation(db) : null;
    if (identity !== null) this.#nats = await new NatsServer({ identity }).start();
    for (const name of nodes) {
      const secret = await addNode(db, name);
      const agent = { kind: 'node', name } as const;
      const servers = [this.#nats?.url ?? ''];
      const remote = identity && remoteCredential({ ...identity, servers }, agent, secret);
      this.#credentials.push(remote === null ? secret : formatCredential(remote));
    }
    if (gameNodes === undefined) {
      await addServer(db, { number: 1, built: false });
      await sql`update game_servers set disk_mib = ${diskMib}`.execute(db);
      await sql`update eggs set egg = ${JSON.stringify(EGG)}::jsonb`.execute(db);
    } else await offerGames(db);
    this.key = await makeKey(db);
    for (let replica = 0; replica < replicas; replica += 1) this.#ports.push(await freePort());
    for (let replica = 0; replica < replicas; replica += 1) await this.startControl(replica);
    for (const node of nodes.keys()) await this.startNode(node);
  }
}

function nameOf(node: number): string {
  return `node-${node + 1}`;
}

/** Nodes offer addresses of this host, and the organisation may make servers. */
async function offerGames(db: Db): Promise<void> {
  await sql`
    update nodes set memory_mib = 16384, disk_mib = 65536, addresses = '{127.0.0.1}',
           given_ports = (25000 + 100 * id) || '-' || (25099 + 100 * id)`.execute(db);
  await sql`
    update organisations set own_servers = 4, own_servers_memory = 8192, own_servers_cpu = 800,
           own_servers_disk = 16384`.execute(db);
}

/** An organisation and a service, for the server. */
async function fill(db: Db): Promise<void> {
  await sql`
    insert into organisations (id, slug, name, flags, owner, requests_per_minute)
    overriding system value values (1, 'acme', 'Acme Hosting', '{}', 'fleet', 100000000)`.execute(
    db,
  );
  await sql`insert into services (id, organisation_id, name, owner) values (501, 1, 'games', 'fleet')`.execute(
    db,
  );
}

async function makeKey(db: Db): Promise<string> {
  const abilities = ['read', 'manage', 'files', 'settings', 'create'].map(
    (ability) => `game-servers.${ability}` as const,
  );
  const wanted = { organisationId: 1, name: 'lab', abilities, owner: 'portal' } as const;
  const actor = { kind: 'system', name: 'lab', source: null, requestId: null } as const;
  return (await db.transaction().execute((tx) => createKey(tx, wanted, actor))).secret;
}

interface Ports {
  readonly sftpPort?: number | null;
  readonly linkPort?: number | null;
}

async function ready(child: ChildProcess, what: string): Promise<Ports> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${what} ended with ${code}`);
  });
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [Ports];
  ended.catch(() => undefined);
  return message;
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function end(child: ChildProcess | null, signal: NodeJS.Signals): Promise<void> {
  if (child === null || !isRunning(child)) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
