import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { createMemoryLink, type MemoryLink } from '@portcullis/link/transport/memory.ts';
import type { AgentRequest, ControlReply } from '@portcullis/link/messages/messages.ts';
import type { EdgeChanges, EdgeConfirm } from '@portcullis/link/messages/edge.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { createEdgeAgent } from '../agent/agent.ts';
import type { EdgeAgent, EdgeAgentOptions } from '../agent/agent-options.ts';
import { createFakeKernel, type FakeKernel } from '@portcullis/dataplane/nftables/fake.ts';

/** A fake control plane of one edge. Tests change its desired state and read the requests that it received. */
export class FakeControl {
  /** Between heartbeats that nothing asks for. */
  heartbeatMs = 20;
  readonly received: AgentRequest[] = [];
  readonly link: MemoryLink;
  generation = 1;
  policies = new Map<string, Policy>();
  /** The watch settings; `watch` changes them with their version. */
  scopes: readonly WatchScope[] = [];
  watchVersion = 'w0';
  /** Replaces the usual answer once. */
  refuseNext: ControlReply | null = null;
  /** Receives requests of this kind and never answers. */
  unansweredKind: AgentRequest['kind'] | null = null;
  /** Syncs are answered, with the state of their request, after this. */
  answersSyncs: Promise<void> = Promise.resolve();
  #changes: { readonly generation: number; readonly target: string }[] = [];
  #waiting: { readonly wanted: (request: AgentRequest) => boolean; readonly met: () => void }[] =
    [];

  constructor() {
    this.link = createMemoryLink(async (_, request) => {
      const reply = this.answer(request);
      if (request.kind === 'edge.sync') await this.answersSyncs;
      return request.kind === this.unansweredKind ? new Promise<never>(() => {}) : reply;
    });
  }

  answer(request: AgentRequest): ControlReply {
    this.received.push(request);
    const { refuseNext } = this;
    if (refuseNext !== null && request.kind === 'edge.sync') {
      this.refuseNext = null;
      return refuseNext;
    }
    const met = this.#waiting.filter(({ wanted }) => wanted(request));
    this.#waiting = this.#waiting.filter((one) => !met.includes(one));
    for (const one of met) one.met();
    return this.#reply(request);
  }

  /** A write: sets these policies and removes the named targets. */
  change(policies: readonly Policy[], removed: readonly string[] = []): void {
    this.lose(policies, removed);
    this.#notify(null);
  }

  /** A write whose changes come with the notice. */
  send(policies: readonly Policy[], removed: readonly string[]): void {
    const after = this.generation;
    this.lose(policies, removed);
    const { generation } = this;
    const settings = SETTINGS;
    this.#notify({ after, generation, policies, removed, sourceSetsVersion: '1', settings });
  }

  /** A write whose notice is lost. */
  lose(policies: readonly Policy[], removed: readonly string[] = []): void {
    this.generation++;
    for (const policy of policies) this.policies.set(policy.target, policy);
    for (const target of removed) this.policies.delete(target);
    for (const target of [...policies.map((policy) => policy.target), ...removed]) {
      this.#changes.push({ generation: this.generation, target });
    }
  }

  #notify(changes: EdgeChanges | null): void {
    this.link.control.notify({ kind: 'edge.changed', edge: SETTINGS.name, changes });
  }

  /** Changes the watch settings. */
  watch(scopes: readonly WatchScope[], version: string): void {
    this.scopes = scopes;
    this.watchVersion = version;
    this.link.control.notify({ kind: 'watch', version });
  }

  confirms(): EdgeConfirm[] {
    return this.received.filter((request) => request.kind === 'edge.confirm');
  }

  /** Resolves at the next request of this kind. */
  next(wanted: (request: AgentRequest) => boolean): Promise<void> {
    return new Promise((met) => this.#waiting.push({ wanted, met }));
  }

  /** Resolves when the agent has taken every notice that was sent: it answers calls in their order. */
  async noticed(): Promise<void> {
    const agent = { kind: 'edge', name: SETTINGS.name } as const;
    await this.link.control.call(agent, { kind: 'edge.explain', packet: PACKET }, 60_000);
  }

  /** Resolves when a generation is confirmed, at once if it already was. */
  async confirmed(generation = this.generation): Promise<EdgeConfirm> {
    const wanted = (request: AgentRequest): boolean =>
      request.kind === 'edge.confirm' && request.generation === generation;
    if (!this.received.some(wanted)) await this.next(wanted);
    return this.received.findLast(wanted) as EdgeConfirm;
  }

  #reply(request: AgentRequest): ControlReply {
    const settings = SETTINGS;
    if (request.kind === 'edge.hello') {
      const { generation } = this;
      return {
        kind: 'edge.welcome',
        protocolVersion: 1,
        generation,
        settings,
        heartbeatMs: this.heartbeatMs,
        resyncMs: 60_000,
      };
    }
    if (request.kind === 'detection.getSettings') {
      const scopes = request.version === this.watchVersion ? null : this.scopes;
      return { kind: 'watch.settings', version: this.watchVersion, scopes, next: null };
    }
    if (request.kind !== 'edge.sync') return { kind: 'done' };
    const whole = request.after === 0;
    const changed = this.#changes.filter(({ generation }) => generation > request.after);
    const targets = new Set(whole ? this.policies.keys() : changed.map(({ target }) => target));
    return {
      kind: 'edge.page',
      generation: this.generation,
      whole,
      policies: [...targets].flatMap((target) => this.policies.get(target) ?? []),
      removed: whole ? [] : [...targets].filter((target) => !this.policies.has(target)),
      sourceSets: request.sourceSetsVersion === '1' ? null : { version: '1', sets: {} },
      settings,
      next: null,
    };
  }
}

const SETTINGS = {
  name: 'fra1',
  site: 'fra',
  devices: ['wan'],
  management: [{ protocol: 'tcp', port: 22 }],
  sees: 'both',
  fragments: 'reassemble',
} as const;

const PACKET: Packet = {
  family: 4,
  source: '198.51.100.1',
  destination: '203.0.113.10',
  protocol: 6,
  sourcePort: 1_024,
  destinationPort: 443,
  icmp: null,
  hopLimit: 64,
  fragment: 'none',
};

export interface TestEdge {
  readonly control: FakeControl;
  readonly kernel: FakeKernel;
  readonly stateDir: string;
  /** The devices of the host; a test may remove them and add them again. */
  readonly devices: Set<string>;
  /** Starts an agent on the same kernel and state directory. May be called again. */
  start(options?: Partial<EdgeAgentOptions>): Promise<EdgeAgent>;
}

/** Stops and removes everything at the end of the test. */
export function testEdge(t: TestContext): TestEdge {
  const control = new FakeControl();
  const kernel = createFakeKernel();
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-edge-'));
  const agents: EdgeAgent[] = [];
  const devices = new Set(['wan']);
  t.after(async () => {
    for (const agent of agents) await agent.stop();
    await control.link.control.close();
    rmSync(stateDir, { recursive: true });
  });
  const start = async (options: Partial<EdgeAgentOptions> = {}): Promise<EdgeAgent> => {
    const agent = createEdgeAgent({
      link: control.link.connect({ kind: 'edge', name: 'fra1' }),
      driver: kernel,
      host: {
        localAddresses: () => [],
        devices: () => [...devices],
        isUp: () => true,
        masterOf: () => null,
      },
      stateDir,
      log: { debug() {}, info() {}, warn() {}, error() {} },
      mode: 'enforce',
      watchMs: 5,
      ...options,
    });
    agents.push(agent);
    await agent.start();
    return agent;
  };
  return { control, kernel, stateDir, devices, start };
}

/** One port is open, everything else is closed. */
export function opening(target: string, port: number): Policy {
  return {
    target,
    ...EMPTY_POLICY,
    rules: [
      { ref: 'rule:1', action: 'allow', protocol: 'tcp', port, source: null },
      { ref: 'rule:2', action: 'deny', protocol: 'any', port: null, source: null },
    ],
  };
}
