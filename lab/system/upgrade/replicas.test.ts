import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { ENDPOINTS, V1_PREFIX } from '@portcullis/contract/endpoints.ts';
import { OPERATOR_ENDPOINTS, OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import { PORTAL_ENDPOINTS, PORTAL_PREFIX } from '@portcullis/contract/portal-endpoints.ts';
import { X1_ENDPOINTS, X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import { loadMigrations } from '@portcullis/control/db/migrate.ts';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import { skipUnless } from '../../requirements.ts';
import { type Answer, Installation } from './installation.ts';
import type { Known } from './make-fixture.ts';
import {
  FIXTURES,
  folderOf,
  lacksCommit,
  migratesFrom,
  programOf,
  restoreThen,
  ROOT,
} from './then.ts';

const WRITERS = 3;
const OVERLAP_WRITES = 30;
/** Retries of a write or read that is answered with 503; each connection of a replica may meet the migration once. */
const RETRIES = 3;
/** Tries of a write, which waits for the longest lock of a migration. */
const TRIES = 100;
const PAUSE_MS = 100;
/** Addresses of acme, without rules so far. */
const ADDRESSES = Array.from({ length: 20 }, (_, index) => `203.0.113.${100 + index}`);

for (const commit of FIXTURES)
  test(
    `replicas of ${commit} become this version one after the other under writes, and none is lost`,
    {
      skip: skipUnless(['root', 'netns', 'postgres', 'git']) || lacksCommit(commit),
    },
    (t) => replaces(t, commit),
  );

async function replaces(t: TestContext, commit: string): Promise<void> {
  const { url } = await testDatabase(t);
  const { home, known } = await restoreThen(t, commit, url);
  await query(url, 'update organisations set requests_per_minute = 1e6, rules_per_ip = 1e5');
  const [{ last }] = (await query(url, 'select max(id) as last from rules')) as [{ last: number }];
  const folder = folderOf(t);
  const older = programOf(commit, folder);
  const start = async (label: string): Promise<Installation> => {
    const replica = new Installation({
      label,
      checkout: older,
      home: join(folder, label),
      databaseUrl: url,
    });
    t.after(() => replica.cutPower());
    await replica.startControl();
    return replica;
  };
  const [first, second] = [await start('a'), await start('b')];
  const writes = new Writes([first, second], known);
  await writes.more();

  await upgrade(first, writes);
  const migrated = await query(url, 'select name from migrations');
  assert.equal(migrated.length, (await loadMigrations()).length);
  await readsEverything(second, known);
  // Until its control is new, one of exporters without prefixes may have to ask again.
  copyFileSync(join(home, 'flows.credential'), join(second.home, 'flows.credential'));
  second.startCollector('flows');
  await upgrade(second, writes);
  await second.logged('flows', 'detection settings received');
  await writes.end();
  t.diagnostic(`${writes.done.length} writes, ${writes.repeated} of them repeated once`);
  const kept = await query(url, `select port from rules where id > ${last} order by port`);
  assert.deepEqual(
    kept.map(({ port }) => port),
    writes.done.toSorted((one, other) => one - other),
  );

  if (!migratesFrom(older)) return;
  await first.stop('control');
  first.checkout = older;
  await assert.rejects(first.startControl(), /newer than this Portcullis/);
}

async function upgrade(replica: Installation, writes: Writes): Promise<void> {
  await replica.stop('control');
  await writes.more();
  replica.checkout = ROOT;
  await replica.startControl();
  await writes.more();
}

/** Everything that can be read without an id, by everybody; nothing may fail. */
async function readsEverything(replica: Installation, known: Known): Promise<void> {
  const { keys, operator } = known;
  const failed: string[] = [];
  for (const [prefix, rows, who] of [
    [V1_PREFIX, ENDPOINTS, { key: keys.acme }],
    [X1_PREFIX, X1_ENDPOINTS, { key: keys.acme }],
    [OPERATOR_PREFIX, OPERATOR_ENDPOINTS, { key: keys.operator }],
    [PORTAL_PREFIX, PORTAL_ENDPOINTS, { cookie: operator.cookie }],
  ] as const) {
    for (const { method, path } of rows) {
      if (method !== 'GET' || path.includes('{') || /stream|watch|events/.test(path)) continue;
      const { status } = await steady(() => replica.call('GET', `${prefix}${path}`, who));
      if (status >= 500) failed.push(`${status} ${prefix}${path}`);
    }
  }
  assert.deepEqual(failed, []);
}

/** Repeats what is answered with 503. */
async function steady<T>(call: () => Promise<Answer<T>>): Promise<Answer<T>> {
  for (let retry = 0; ; retry++) {
    const answer = await call();
    if (answer.status !== 503 || retry === RETRIES) return answer;
    await delay(PAUSE_MS);
  }
}

/** Writers behind a proxy of all replicas, which never pause. */
class Writes {
  readonly #replicas: readonly Installation[];
  readonly #known: Known;
  readonly #writers: Promise<void>[];
  #isOver = false;
  #next = 0;
  /** The ports of the rules that were acknowledged. */
  readonly done: number[] = [];
  repeated = 0;

  constructor(replicas: readonly Installation[], known: Known) {
    this.#replicas = replicas;
    this.#known = known;
    this.#writers = Array.from({ length: WRITERS }, () => this.#write());
  }

  /** Waits for further writes. A writer that fails ends it. */
  async more(): Promise<void> {
    const wanted = this.done.length + OVERLAP_WRITES;
    while (this.done.length < wanted && !this.#isOver) await delay(PAUSE_MS);
    if (this.#isOver) await this.end();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#writers);
  }

  async #write(): Promise<void> {
    try {
      while (!this.#isOver) {
        const port = 1 + this.#next++;
        const sent = { idempotencyKey: randomUUID(), key: this.#known.keys.acme };
        const body = { action: 'deny', protocol: 'udp', destination_port: String(port) };
        const ip = ADDRESSES[port % ADDRESSES.length];
        const path = `${V1_PREFIX}/firewall/ips/${ip}/rules`;
        const send = () => this.#proxied(port, path, { ...sent, body });
        let answer = await send();
        // While a migration holds a table; how long depends on the machine.
        for (let tries = 0; answer.status === 503 && tries < TRIES; tries += 1) {
          this.repeated += 1;
          await delay(PAUSE_MS);
          answer = await send();
        }
        assert.equal(answer.status, 201, JSON.stringify(answer));
        this.done.push(port);
      }
    } finally {
      this.#isOver = true;
    }
  }

  /** The answer of the first replica that gives one. */
  async #proxied(turn: number, path: string, sent: object): Promise<Answer<unknown>> {
    const all = this.#replicas;
    for (let attempt = 0; ; attempt++) {
      const replica = all[(turn + attempt) % all.length] as Installation;
      try {
        return await replica.call('POST', path, sent);
      } catch (error) {
        if (attempt === all.length) throw error;
      }
    }
  }
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
