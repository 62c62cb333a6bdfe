import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { programOf } from '@portcullis/cli/agents/processes.ts';
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
const NODE = 'node-1';

export interface FileHostOptions {
  /** Replicas of control. Default: 1. */
  readonly replicas?: number;
  /** Nodes reach control over NATS, as those of other hosts do. Default: by its socket. */
  readonly overNats?: boolean;
  /** Whether the files are on a disk, where others are in memory. */
  readonly onDisk?: boolean;
  /** Whether the node serves SFTP. */
  readonly sftp?: boolean;
  /** The URL that links to files of the node begin with. Default: it serves none. */
  readonly linkUrl?: string;
  /** MiB; default: more than any test writes. */
  readonly diskMib?: number;
}

/**
 * Processes of control, of a node and perhaps of NATS on this host, with a server whose files are real and that does not
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
  #node: ChildProcess | null = null;
  #nats: NatsServer | null = null;
  #credential = '';
  key = '';
  sftpPort = 0;
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
    return this.#node?.pid ?? 0;
  }

  controlPid(replica = 0): number {
    return this.#controls.get(replica)?.pid ?? 0;
  }

  /** Calls an operation on the server's files: `content?path=a`. */
  call(path: string, init: RequestInit & { readonly duplex?: 'half' } = {}, replica = 0) {
    return fetch(`${this.url(replica)}/api/x1/game-servers/${this.uuid}/files${path}`, {
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

  /** Starts the node, and waits until it serves the files. */
  async startNode(): Promise<void> {
    const config = {
      name: NODE,
      linkPath: join(this.#home, 'control-0', 'node-link', 'control.sock'),
      credential: this.#credential,
      stateDir: join(this.#home, 'node'),
      sftpPort: this.#options.sftp === true ? 0 : null,
      linkUrl: this.#options.linkUrl ?? null,
    };
    mkdirSync(config.stateDir, { recursive: true });
    const child = fork(join(import.meta.dirname, 'file-node-process.ts'), {
      env: { ...process.env, FILE_NODE: JSON.stringify(config) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#node = child;
    const { sftpPort, linkPort } = await ready(child, 'the node');
    this.sftpPort = sftpPort ?? 0;
    this.linkPort = linkPort ?? 0;
    await this.serving();
  }

  /** Waits until every replica that runs gets answers about the files. */
  async serving(): Promise<void> {
    const untilMs = performance.now() + PATIENCE_MS;
    for (const [replica, child] of this.#controls) {
      for (; isRunning(child); await delay(AGAIN_MS)) {
        const status = await this.call('', {}, replica).then(
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
    await end(what === 'node' ? this.#node : (this.#controls.get(replica) ?? null), 'SIGKILL');
  }

  async stop(): Promise<void> {
    await end(this.#node, 'SIGTERM');
    await Promise.all([...this.#controls.values()].map((child) => end(child, 'SIGTERM')));
    await this.#nats?.stop();
    rmSync(this.#home, { recursive: true, force: true });
  }

  async #begin(): Promise<void> {
    const { replicas = 1, overNats = false, diskMib = 65_536 } = this.#options;
    const { db } = this;
    await fill(db);
    const secret = await addNode(db, NODE);
    await addServer(db, { number: 1, built: false });
    await sql`update game_servers set disk_mib = ${diskMib}`.execute(db);
    await sql`update eggs set egg = ${JSON.stringify(EGG)}::jsonb`.execute(db);
    if (overNats) {
      const identity = await ensureInstallation(db);
      this.#nats = await new NatsServer({ identity }).start();
      const servers = [this.#nats.url];
      const agent = { kind: 'node', name: NODE } as const;
      this.#credential = formatCredential(
        remoteCredential({ ...identity, servers }, agent, secret),
      );
    } else this.#credential = secret;
    this.key = await makeKey(db);
    for (let replica = 0; replica < replicas; replica += 1) this.#ports.push(await freePort());
    for (let replica = 0; replica < replicas; replica += 1) await this.startControl(replica);
    await this.startNode();
  }
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
  const abilities = ['game-servers.read', 'game-servers.manage', 'game-servers.files'];
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  server.close();
  await once(server, 'close');
  return port;
}
