import assert from 'node:assert/strict';
import type { Policy, SourceSets, RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import { createMemoryLink, type MemoryLink } from '@portcullis/link/transport/memory.ts';
import type { AgentRequest, ControlReply } from '@portcullis/link/messages/messages.ts';
import type {
  EdgeChanges,
  EdgeMode,
  EdgePage,
  EdgeWelcome,
} from '@portcullis/link/messages/edge.ts';
import type { EdgeDrops, EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import type { Db } from '../db/database.ts';
import { createEdgeHandler } from './edge-handler.ts';
import { createEdgeQueries } from './edges/queries.ts';
import { SyncService, type SyncOptions } from './sync/sync.ts';
import { silentEvents } from './testing.ts';

const TIMEOUT_MS = 10_000;

/** The report of an edge without devices. */
const REPORT: EdgeReport = {
  policies: 0,
  elements: 0,
  filters: 0,
  lastError: null,
  lastApplyMs: 1,
  repairs: 0,
  forgottenConnections: 0,
  kernel: 'undisturbed',
  problems: [],
  devices: [],
  hostDevices: null,
  fastPath: null,
  counters: 'none',
  management: [],
};

/** Control's side of a link for tests, on a database. */
export function serveEdges(db: Db, options: Partial<SyncOptions> = {}) {
  const sync = new SyncService({ db, loadSourceSets: fakeSourceSets, ...options });
  const handler = createEdgeHandler({ db, sync, events: silentEvents() });
  const link = createMemoryLink(handler);
  return { sync, handler, link, queryEdges: createEdgeQueries(() => link.control) };
}

export async function fakeSourceSets(names: readonly string[]): Promise<SourceSets> {
  return {
    version: `v-${names.join('_')}`,
    sets: Object.fromEntries(names.map((name) => [name, ['198.51.100.0/24']])),
  };
}

/** An edge that stores what it receives, as an agent does. */
export class TestEdge {
  readonly policies = new Map<string, Policy>();
  generation = 0;
  sourceSets: SourceSets | null = null;
  pages = 0;
  /** The changes of notices that arrived, oldest first; null where they must be fetched. */
  readonly notices: (EdgeChanges | null)[] = [];
  readonly #agent: AgentSide;
  readonly #instance: string;

  constructor(link: MemoryLink, name: string, instance: string) {
    this.#agent = link.connect({ kind: 'edge', name });
    this.#instance = instance;
    this.#agent.onNotice((notice) => {
      if (notice.kind === 'edge.changed') this.notices.push(notice.changes);
    });
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  /** Applies changes as an agent does. Returns false if they do not fit: they must be fetched. */
  take(changes: EdgeChanges): boolean {
    if (this.generation < changes.after) return false;
    if (this.sourceSets?.version !== changes.sourceSetsVersion) return false;
    if (this.generation >= changes.generation) return true;
    for (const target of changes.removed) this.policies.delete(target);
    for (const policy of changes.policies) this.policies.set(policy.target, policy);
    this.generation = changes.generation;
    return true;
  }

  async #request(request: AgentRequest): Promise<ControlReply> {
    await new Promise<void>((resolve) => this.#agent.onConnect(resolve));
    return this.#agent.request(request, TIMEOUT_MS);
  }

  async sendHello(mode: EdgeMode = 'enforce'): Promise<ControlReply> {
    return this.#request({
      kind: 'edge.hello',
      protocolVersion: 1,
      instance: this.#instance,
      mode,
      modeReason: null,
    });
  }

  async hello(mode: EdgeMode = 'enforce'): Promise<EdgeWelcome> {
    const reply = await this.sendHello(mode);
    if (reply.kind !== 'edge.welcome') assert.fail(JSON.stringify(reply));
    return reply;
  }

  async page(cursor: string | null = null, after = this.generation): Promise<ControlReply> {
    return this.#request({
      kind: 'edge.sync',
      instance: this.#instance,
      after,
      cursor,
      sourceSetsVersion: this.sourceSets?.version ?? null,
    });
  }

  async mustPage(cursor: string | null = null): Promise<EdgePage> {
    const reply = await this.page(cursor);
    if (reply.kind !== 'edge.page') assert.fail(JSON.stringify(reply));
    return reply;
  }

  /** Runs a sync to its last page, applies it and returns the pages. */
  async sync(between: (page: EdgePage) => Promise<void> = async () => {}): Promise<EdgePage[]> {
    const pages: EdgePage[] = [];
    let cursor: string | null = null;
    do {
      const page: EdgePage = await this.mustPage(cursor);
      pages.push(page);
      cursor = page.next;
      if (cursor !== null) await between(page);
    } while (cursor !== null);
    this.apply(pages);
    return pages;
  }

  #keep({ version, sets }: SourceSets): void {
    const known = this.sourceSets?.version === version ? this.sourceSets.sets : {};
    const joined = Object.entries(sets).map(([name, some]) => [
      name,
      [...(known[name] ?? []), ...some],
    ]);
    this.sourceSets = { version, sets: { ...known, ...Object.fromEntries(joined) } };
  }

  apply(pages: readonly EdgePage[]): void {
    this.pages = pages.length;
    if (pages[0]?.whole) this.policies.clear();
    for (const page of pages) {
      for (const target of page.removed) this.policies.delete(target);
      for (const policy of page.policies) this.policies.set(policy.target, policy);
      if (page.sourceSets !== null) this.#keep(page.sourceSets);
      this.generation = page.generation;
    }
  }

  async confirm(
    generation = this.generation,
    refused: readonly RefusedTarget[] = [],
  ): Promise<ControlReply> {
    return this.#request({ kind: 'edge.confirm', instance: this.#instance, generation, refused });
  }

  async beat(mode: EdgeMode = 'enforce', report: Partial<EdgeReport> = {}): Promise<ControlReply> {
    return this.#request({
      kind: 'edge.heartbeat',
      instance: this.#instance,
      mode,
      modeReason: null,
      generation: this.generation,
      report: { ...REPORT, policies: this.policies.size, ...report },
    });
  }

  /** Reports drops, with an edge clock at `atMs`. */
  async reportDrops(sequence: number, drops: EdgeDrops, atMs = Date.now()): Promise<ControlReply> {
    return this.#request({ kind: 'edge.drops', instance: this.#instance, sequence, atMs, drops });
  }

  /** Sends a hello, syncs and confirms, so that the edge is in service. */
  async join(): Promise<void> {
    await this.hello();
    await this.sync();
    assert.deepEqual(await this.confirm(), { kind: 'done' });
  }
}
