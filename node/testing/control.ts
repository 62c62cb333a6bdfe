import { createHash } from 'node:crypto';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import type { ServerAssignment } from '@portcullis/core/game-servers/power.ts';
import { FILE_RIGHTS } from '@portcullis/core/access/server-rights.ts';
import type { FileAnswer, FileCall, FileOperation } from '@portcullis/link/messages/files.ts';
import { serveIpc } from '@portcullis/link/transport/ipc.ts';
import { createMemoryLink, type MemoryLink } from '@portcullis/link/transport/memory.ts';
import type { AgentRequest, ControlReply } from '@portcullis/link/messages/messages.ts';
import type {
  NodeAnswer,
  NodeCall,
  NodeHeartbeat,
  NodePage,
  NodeSync,
  ServerBuild,
} from '@portcullis/link/messages/node.ts';
import {
  type AgentSide,
  type ControlSide,
  LinkError,
} from '@portcullis/link/transport/transport.ts';

export const NODE = 'node-1';

/** The control side of a node for tests: sends assignments and calls, and records reports. */
export class TestControl {
  readonly #link: MemoryLink = createMemoryLink(async (_from, request) => this.#answer(request));
  #side: Pick<ControlSide, 'call' | 'notify' | 'close'> = this.#link.control;
  #servers: readonly ServerAssignment[] = [];
  #eggs: Readonly<Record<string, Egg>> = {};
  readonly #waiting = new Set<() => void>();
  /** Deleted servers whose files the node has to purge. */
  #purge: readonly string[] = [];
  report: NodeHeartbeat | null = null;
  #joined = Promise.withResolvers<void>();

  /** Replaces the link within this process by one for processes of this host. */
  async listen(path: string): Promise<void> {
    this.#side = await serveIpc({ path, handler: async (_from, request) => this.#answer(request) });
  }

  /** Calls wait until another agent connects. */
  expectAgent(): void {
    this.#joined = Promise.withResolvers();
  }

  /** The messages of a new agent. */
  connect(): AgentSide {
    this.expectAgent();
    return this.#link.connect({ kind: 'node', name: NODE });
  }

  /** The servers that the node must run from now on, by number and egg. */
  assign(servers: readonly ServerAssignment[], eggs: Readonly<Record<string, Egg>>): void {
    this.#servers = servers;
    this.#eggs = eggs;
    this.#side.notify({ kind: 'node.assignments', nodes: [NODE] });
  }

  /** The deleted servers whose files the node has to purge from now on. */
  purge(uuids: readonly string[]): void {
    this.#purge = uuids;
    this.#side.notify({ kind: 'node.assignments', nodes: [NODE] });
  }

  /** Null if there is no answer in that time. */
  async call(uuid: string, call: NodeCall['call'], withinMs = 10_000): Promise<NodeAnswer | null> {
    await this.#joined.promise;
    const request = { kind: 'node.call', withinMs, uuid, call } as const;
    const node = { kind: 'node', name: NODE } as const;
    try {
      return await this.#side.call(node, request, withinMs);
    } catch (error) {
      if (error instanceof LinkError) return null;
      throw error;
    }
  }

  /** All rights of files. */
  async files(uuid: string, operation: FileOperation): Promise<FileAnswer> {
    await this.#joined.promise;
    const rights = FILE_RIGHTS;
    const who = { rights, actor: 'alex', caller: null };
    const call = { kind: 'node.files', withinMs: 10_000, uuid, ...who, operation };
    return this.#side.call({ kind: 'node', name: NODE }, call as FileCall, 10_000);
  }

  /** Resolves with the first matching report on this server, including past ones. */
  async reported(uuid: string, isSo: (build: ServerBuild) => boolean): Promise<ServerBuild> {
    for (;;) {
      const found = this.report?.builds.find((build) => build.uuid === uuid);
      if (found !== undefined && isSo(found)) return found;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  close(): Promise<void> {
    return this.#side.close();
  }

  async #answer(request: AgentRequest): Promise<ControlReply> {
    if (request.kind === 'node.hello') {
      return { kind: 'node.welcome', protocolVersion: 1, heartbeatMs: 500, resyncMs: 60_000 };
    }
    if (request.kind === 'node.sync') return this.#page(request);
    if (request.kind === 'node.heartbeat') {
      this.report = request;
      for (const wake of this.#waiting) wake();
      this.#waiting.clear();
    }
    return { kind: 'done' };
  }

  #page({ revision: held }: NodeSync): NodePage {
    // It has been welcomed, so it receives calls.
    this.#joined.resolve();
    const servers = this.#servers;
    const purge = [...this.#purge];
    const content = JSON.stringify({ servers, purge });
    const revision = createHash('sha256').update(content).digest('hex');
    const page = { kind: 'node.page', revision, purge, next: null } as const;
    return revision === held
      ? { ...page, unchanged: true, servers: [], eggs: {} }
      : { ...page, unchanged: false, servers, eggs: this.#eggs };
  }
}
