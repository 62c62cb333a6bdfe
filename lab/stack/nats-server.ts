import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  accountClaims,
  agentClaims,
  controlClaims,
  operatorClaims,
} from '@portcullis/link/nats/claims.ts';
import type { NatsAccess } from '@portcullis/link/nats/connection.ts';
import { NatsKey, replicasKey } from '@portcullis/link/nats/keys.ts';
import { renderServerConfig } from '@portcullis/link/nats/server-config.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { setTimeout as delay } from 'node:timers/promises';

const START_MS = 60_000;

interface Identity {
  readonly operator: NatsKey;
  readonly system: NatsKey;
  readonly account: NatsKey;
}

export interface NatsServerOptions {
  /** Replaces the configuration. */
  readonly config?: string;
  /** Keys that control has made. */
  readonly identity?: Identity;
  /** A server of a cluster: the first one, or one that joins a running one. */
  readonly cluster?: 'first' | NatsServer;
}

/** A NATS server of this host. Its accounts are made for it and its cluster alone. */
export class NatsServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'portcullis-nats-'));
  readonly #identity: Identity;
  readonly #config: string;
  #process: ChildProcess | null = null;
  #url = '';
  #clusterAddress = '';

  constructor({ config, cluster, identity }: NatsServerOptions = {}) {
    this.#identity =
      cluster instanceof NatsServer
        ? cluster.#identity
        : (identity ?? {
            operator: new NatsKey('operator'),
            system: new NatsKey('account'),
            account: new NatsKey('account'),
          });
    const { operator, system, account } = this.#identity;
    const routes = cluster instanceof NatsServer ? [cluster.#clusterAddress] : [];
    const named = (key: NatsKey, name: 'system' | 'replicas' | 'fleet'): [string, string] => [
      key.publicName,
      accountClaims(operator, { name, publicName: key.publicName }),
    ];
    this.#config =
      config ??
      renderServerConfig({
        folder: this.#folder,
        listen: '127.0.0.1:-1',
        operator: operatorClaims(operator, system.publicName),
        accounts: Object.fromEntries([
          named(system, 'system'),
          named(replicasKey(system), 'replicas'),
          named(account, 'fleet'),
        ]),
        tls: null,
        cluster: cluster === undefined ? null : { listen: '127.0.0.1:-1', routes },
      });
  }

  /** On the port of the last time, if it was started before. */
  async start(): Promise<this> {
    const file = join(this.#folder, 'nats.conf');
    const port = this.#url === '' ? '-1' : new URL(this.#url).port;
    writeFileSync(file, this.#config.replace('127.0.0.1:-1', `127.0.0.1:${port}`));
    const args = ['-c', file, '--ports_file_dir', this.#folder];
    const child = spawn('nats-server', args, {
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#process = child;
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
    const until = Date.now() + START_MS;
    const isPorts = (name: string): boolean => name.endsWith(`_${child.pid}.ports`);
    // The server writes the file in place, so its end may be missing for a moment.
    const readPorts = (): string => {
      const name = readdirSync(this.#folder).find(isPorts);
      const text = name === undefined ? '' : readFileSync(join(this.#folder, name), 'utf8');
      return text.trimEnd().endsWith('}') ? text : '';
    };
    let ports = '';
    while (!log.includes('Server is ready') || (ports = readPorts()) === '') {
      if (child.exitCode !== null || Date.now() > until) throw new Error(`nats-server: ${log}`);
      await delay(10);
    }
    const { nats, cluster } = JSON.parse(ports);
    this.#url = nats[0];
    this.#clusterAddress = cluster === undefined ? '' : new URL(cluster[0]).host;
    return this;
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true });
  }

  /** Access as control. */
  get control(): NatsAccess {
    const key = new NatsKey('user');
    return this.#access(key, controlClaims(this.#identity.account, key.publicName));
  }

  /** Access as control among its replicas. */
  get replicas(): NatsAccess {
    const key = new NatsKey('user');
    const account = replicasKey(this.#identity.system);
    return this.#access(key, controlClaims(account, key.publicName));
  }

  /** Access as this agent. */
  agent(agent: AgentRef): NatsAccess {
    const key = new NatsKey('user');
    return this.#access(key, agentClaims(this.#identity.account, key.publicName, agent));
  }

  /** Access as this agent, by a credential of version 0.1, which had no limits. */
  agentBefore(agent: AgentRef): NatsAccess {
    const { account } = this.#identity;
    const key = new NatsKey('user');
    return this.#access(
      key,
      changedClaims(account, agentClaims(account, key.publicName, agent), (nats) => ({
        ...nats,
        subs: -1,
        payload: -1,
      })),
    );
  }

  /** Bytes of resident memory. */
  get residentBytes(): number {
    const status = readFileSync(`/proc/${this.#process?.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  get url(): string {
    return this.#url;
  }

  #access(key: NatsKey, jwt: string): NatsAccess {
    return { servers: [this.#url], key, jwt, ca: null };
  }
}

type Claims = Readonly<Record<string, unknown>>;

/** A JWT with other claims for NATS, signed again. */
export function changedClaims(
  issuer: NatsKey,
  jwt: string,
  change: (nats: Claims) => Claims,
): string {
  const [head = '', body = ''] = jwt.split('.');
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
  const changed = { ...claims, nats: change(claims.nats) };
  const signed = `${head}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}`;
  return `${signed}.${issuer.sign(signed)}`;
}
