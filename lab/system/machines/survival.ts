import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { TABLE_NAME } from '@portcullis/dataplane/nftables/names.ts';
import type { AddressRead, ApiClient } from '../../stack/api-client.ts';
import type { Machines } from '../../stack/machines.ts';
import { eventually } from '../stack-fixture.ts';

const WRITES_PER_SECOND = 200;
/** How long writes go on around a fault. */
const BEFORE_MS = 500;
const AFTER_MS = 2_000;
const ADDRESSES = 200;
/** Its rule must not leave a kernel during a fault. */
const GUARDED = '203.0.113.251';
const FIRST_PORT = 10_000;
const LOOK_MS = 500;
/** So many looks at the kernels tell; a busy machine needs longer for them. */
const LOOKS = 6;
/** A write that a fault interrupts is not acknowledged; its caller does not wait for longer. */
const CATCH_UP_MS = 60_000;

/** So many writes leave an address a quarter of the rules that it may have. */
const FORGET_AFTER = ADDRESSES * 25;

let nextWrite = 0;
/** The writes whose rules are deleted. */
let forgotten = 0;

interface Written {
  readonly ip: string;
  readonly port: number;
  readonly generation: number;
}

/**
 * While a fault happens, writes go on through both replicas: no acknowledged one is lost, each reaches every kernel, and
 * no kernel opens what it denied. `act` makes the fault.
 */
export async function survives(
  t: TestContext,
  machines: Machines,
  act: () => Promise<void>,
): Promise<void> {
  const guard = new Guard(machines, await denied(machines));
  const writing = new Writing([machines.api, machines.replicaApi]);
  try {
    await delay(BEFORE_MS);
    await act();
    await delay(AFTER_MS);
    await eventually('the kernels were looked at', async () => guard.looks >= LOOKS);
  } finally {
    await writing.stop();
    await guard.stop();
  }
  machines.requireRunning('control');
  const { acknowledged, failures } = writing;
  const endedMs = performance.now();
  assert.ok(acknowledged.length > 50, `${acknowledged.length} writes in all`);
  const newest = Math.max(...acknowledged.map(({ generation }) => generation));
  const last = acknowledged.find(({ generation }) => generation === newest) as Written;
  await machines.api.liveAt(last.ip, newest, CATCH_UP_MS);
  await machines.confirmed(newest, CATCH_UP_MS);
  const tookMs = Math.round(performance.now() - endedMs);
  t.diagnostic(
    `${acknowledged.length} acknowledged, ${describe(failures)} failed; in every kernel ${tookMs} ms after the last`,
  );
  for (const { name, namespace } of machines.edges) {
    const numbers = new Set(namespace.run('nft', 'list', 'ruleset').match(/\b\d+\b/g));
    const missing = acknowledged.filter(({ port }) => !numbers.has(String(port)));
    assert.deepEqual(missing, [], `${name} lacks rules`);
  }
  assert.equal(guard.opened, null);
  if (nextWrite - forgotten > FORGET_AFTER) await forget(machines.api);
}

/** Deletes what was written: a slow machine writes for longer, and an address holds 100 rules. */
async function forget(api: ApiClient): Promise<void> {
  forgotten = nextWrite;
  for (let host = 1; host <= ADDRESSES; host += 1) {
    const path = `/api/v1/firewall/ips/203.0.113.${host}`;
    const { body } = await api.call<AddressRead>('GET', path);
    const ids = body.data.rules.map(({ id }) => id);
    if (ids.length === 0) continue;
    const { status } = await api.call('DELETE', `${path}/rules`, { ids });
    assert.equal(status, 200);
  }
}

/** A port that every edge denies before the fault. */
async function denied(machines: Machines): Promise<number> {
  const { port, generation } = await denyInTurn(machines.api, GUARDED);
  await machines.api.liveAt(GUARDED, generation);
  await machines.confirmed(generation, CATCH_UP_MS);
  return port;
}

/** Returns the generation with which it was accepted. */
async function deny(api: ApiClient, ip: string, port: number): Promise<number> {
  const rule = { action: 'deny', protocol: 'tcp', destination_port: String(port) };
  const { status, headers } = await api.call('POST', `/api/v1/firewall/ips/${ip}/rules`, rule);
  if (status !== 201) throw new Error(String(status));
  return Number(headers['portcullis-generation']);
}

function describe(failures: ReadonlyMap<string, number>): string {
  const counts = [...failures].map(([reason, count]) => `${count} (${reason})`);
  return counts.length === 0 ? 'none' : counts.join(', ');
}

/**
 * Denies a port of its choice beside other writes, which may leave it no room at once: an organisation has its share of what is
 * answered. Another one with each attempt, because one that was cut off may have been accepted.
 */
export async function denyInTurn(
  api: ApiClient,
  ip: string,
): Promise<{ readonly port: number; readonly generation: number }> {
  return inTurn(async () => {
    const port = (nextWrite += 1) + FIRST_PORT;
    return { port, generation: await deny(api, ip, port) };
  });
}

/** Repeats what fails while others take the room of connections and answers. */
export async function inTurn<T>(act: () => Promise<T>): Promise<T> {
  const until = performance.now() + CATCH_UP_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (performance.now() > until) throw error;
    }
    await delay(LOOK_MS);
  }
}

/** Looks again and again whether the kernels still deny a port. */
class Guard {
  /** The edge that did not, and what nft said of it. */
  opened: string | null = null;
  looks = 0;
  readonly #stopping = new AbortController();
  readonly #watching: Promise<void>;

  constructor({ edges }: Machines, port: number) {
    this.#watching = this.#watch(edges, `{ ${GUARDED} . tcp . ${port} }`);
  }

  async #watch(edges: Machines['edges'], element: string): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      for (const { name, namespace } of edges) {
        const table = ['inet', TABLE_NAME];
        const command = namespace.command('nft', 'get', 'element', ...table, 'port4', element);
        const [program, ...args] = command;
        const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
        // A machine at its limits starts no process, which says nothing of it either.
        if (error !== undefined) continue;
        // Under many changes nft sometimes cannot read what there is, which says nothing of it.
        const isGone = status !== 0 && stderr.includes('No such file');
        if (isGone) this.opened = `${name}: ${stderr}`;
        if (isGone || status === 0) this.looks += 1;
      }
      await delay(LOOK_MS);
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#watching;
  }
}

/** Writes rules at a rate, through each of the APIs in turn, until it is stopped. */
class Writing {
  readonly #apis: readonly ApiClient[];
  readonly acknowledged: Written[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  readonly #startedMs = performance.now();
  #begun = 0;
  /** How many failed for each reason. */
  readonly failures = new Map<string, number>();

  constructor(apis: readonly ApiClient[]) {
    this.#apis = apis;
    this.#timer = setInterval(() => {
      const dueMs = performance.now() - this.#startedMs;
      while (this.#begun < (dueMs / 1_000) * WRITES_PER_SECOND) this.#begin();
    }, 1_000 / WRITES_PER_SECOND);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
  }

  #begin(): void {
    this.#begun += 1;
    const write = (nextWrite += 1);
    const running = this.#write(write).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #write(write: number): Promise<void> {
    const api = this.#apis[write % this.#apis.length] as ApiClient;
    const ip = `203.0.113.${1 + (write % ADDRESSES)}`;
    const port = FIRST_PORT + write;
    try {
      this.acknowledged.push({ ip, port, generation: await deny(api, ip, port) });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const reason = message.replace(/^.*(?=took too long)/, '');
      this.failures.set(reason, (this.failures.get(reason) ?? 0) + 1);
    }
  }
}
