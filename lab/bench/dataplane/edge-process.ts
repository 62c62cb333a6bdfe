import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { serveIpc } from '@portcullis/link/transport/ipc.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { AgentRequest, ControlReply } from '@portcullis/link/messages/messages.ts';
import type { EdgeSync } from '@portcullis/link/messages/edge.ts';
import type { EdgeAssignment } from '@portcullis/core/firewall/packet.ts';
import type { EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';
import type { Namespace } from '../../stack/netns.ts';
import { residentMib } from '../measure.ts';
import { cpuMs } from '../processor-use.ts';
import { within } from '../within.ts';

const POLICIES_PER_PAGE = 500;
/** Longer than any bench: nothing comes by a timer. */
const RESYNC_MS = 3_600_000;
const HEARTBEAT_MS = 1_000;
const START_MS = 120_000;
const LINK = 'link';

export interface BenchEdgeOptions {
  readonly sets?: SourceSets['sets'];
  /** Networks that the edge counts traffic of, and detects attacks on. */
  readonly scopes?: readonly WatchScope[];
  readonly env?: NodeJS.ProcessEnv;
}

export type Settings = Omit<EdgeAssignment, 'name' | 'site'>;

/** The edge's own process, as `portcullis edge` runs it, in a namespace, and a control plane for it alone. */
export class BenchEdge {
  readonly #namespace: Namespace;
  readonly #settings: EdgeAssignment;
  readonly #folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-'));
  readonly #policies: Map<string, Policy>;
  readonly #sets: SourceSets['sets'];
  readonly #scopes: readonly WatchScope[];
  readonly #env: NodeJS.ProcessEnv;
  #changed: { readonly generation: number; readonly target: string }[] = [];
  #generation = 1;
  #confirmed = 0;
  #waiting: (() => void)[] = [];
  #control: ControlSide | null = null;
  #child: ChildProcess | null = null;
  #report: EdgeReport | null = null;

  constructor(
    namespace: Namespace,
    policies: readonly Policy[],
    settings: Settings,
    { sets = {}, scopes = [], env = {} }: BenchEdgeOptions = {},
  ) {
    this.#sets = sets;
    this.#scopes = scopes;
    this.#env = env;
    this.#namespace = namespace;
    this.#policies = new Map(policies.map((policy) => [policy.target, policy]));
    this.#settings = { ...settings, name: 'bench', site: 'bench' };
  }

  /** Starts the process; resolves when the kernel has everything. Milliseconds from the start of the process. */
  async start(): Promise<number> {
    const linkPath = join(this.#folder, LINK);
    this.#control ??= await serveIpc({
      path: linkPath,
      handler: async (_, request) => this.#answer(request),
    });
    const config = { name: 'bench', linkPath, stateDir: this.#folder, mode: 'enforce' };
    const begin = performance.now();
    this.#confirmed = 0;
    const child = this.#namespace.spawn(
      [process.execPath, join(root, 'edge', 'main.ts'), JSON.stringify(config)],
      {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, PORTCULLIS_LOG_LEVEL: 'error', ...this.#env },
      },
    );
    this.#child = child;
    await within(START_MS, 'the edge confirmed nothing', this.confirmed(this.#generation));
    return performance.now() - begin;
  }

  /** A write that control has accepted; the edge hears of it. Answers its generation. */
  change(policy: Policy): number {
    this.#generation++;
    this.#policies.set(policy.target, policy);
    this.#changed.push({ generation: this.#generation, target: policy.target });
    this.#control?.notify({ kind: 'edge.changed', edge: 'bench', changes: null });
    return this.#generation;
  }

  /** The report that it says of itself, at the next heartbeat. */
  async reported(): Promise<EdgeReport> {
    this.#report = null;
    while (this.#report === null) await this.#heard();
    return this.#report;
  }

  async confirmed(generation: number): Promise<void> {
    while (this.#confirmed < generation) await this.#heard();
  }

  /** Resident memory now, and processor time used so far. */
  use(): { readonly residentMib: number; readonly cpuMs: number } {
    const pid = this.#child?.pid;
    return { residentMib: residentMib(pid), cpuMs: cpuMs(pid) };
  }

  /** Ends the process: the table stays in the kernel, and early drop ends with it where it cannot be pinned. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    await gone;
  }

  /** Ends the process and takes away everything that the next one could begin with. */
  async forget(): Promise<void> {
    await this.stop();
    this.#namespace.run('nft', 'add table inet portcullis; delete table inet portcullis');
    for (const name of readdirSync(this.#folder))
      if (name !== LINK) rmSync(join(this.#folder, name), { recursive: true });
  }

  async destroy(): Promise<void> {
    await this.stop();
    await this.#control?.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #heard(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #answer(request: AgentRequest): ControlReply {
    if (request.kind === 'edge.hello') {
      return {
        kind: 'edge.welcome',
        protocolVersion: 1,
        generation: this.#generation,
        settings: this.#settings,
        heartbeatMs: HEARTBEAT_MS,
        resyncMs: RESYNC_MS,
      };
    }
    if (request.kind === 'edge.sync') return this.#page(request);
    if (request.kind === 'detection.getSettings')
      return { kind: 'watch.settings', version: '1', scopes: [...this.#scopes], next: null };
    if (request.kind === 'edge.heartbeat') this.#report = request.report;
    if (request.kind === 'edge.confirm') {
      if (request.refused.length > 0)
        throw new Error(`refused: ${JSON.stringify(request.refused[0])}`);
      this.#confirmed = request.generation;
    }
    for (const met of this.#waiting.splice(0)) met();
    return { kind: 'done' };
  }

  #page({ after, cursor, sourceSetsVersion }: EdgeSync): ControlReply {
    const whole = after === 0;
    const first = Number(cursor ?? 0);
    const wanted = whole
      ? [...this.#policies.keys()]
      : [...new Set(this.#changed.flatMap((one) => (one.generation > after ? one.target : [])))];
    const next = first + POLICIES_PER_PAGE;
    return {
      kind: 'edge.page',
      generation: this.#generation,
      whole,
      policies: wanted.slice(first, next).flatMap((target) => this.#policies.get(target) ?? []),
      removed: [],
      sourceSets: sourceSetsVersion === '1' ? null : { version: '1', sets: this.#sets },
      settings: this.#settings,
      next: next < wanted.length ? String(next) : null,
    };
  }
}

const root = join(import.meta.dirname, '..', '..', '..');
