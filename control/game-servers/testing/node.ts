import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerState } from '@portcullis/core/game-servers/power.ts';
import type { MemoryLink } from '@portcullis/link/transport/memory.ts';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import type {
  NodeAnswer,
  NodeCall,
  NodeEngine,
  NodeHeartbeat,
  NodeRequest,
  ServerBuild,
} from '@portcullis/link/messages/node.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';

const TIMEOUT_MS = 30_000;

/** A test node: sends given messages, records calls and answers as `answer` says. */
export class TestNode {
  readonly name: string;
  readonly instance: string;
  readonly calls: NodeCall[] = [];
  /** Images that it was asked to make. */
  readonly images: string[] = [];
  /** Null: it hangs. */
  answer: (call: NodeCall) => NodeAnswer | null = () => ({ kind: 'accepted' });
  /** Programs and images that its engines can run. */
  host: NodeEngine['host'] = null;
  /** Folders that it offers; null: it is an older one. */
  mounts: NodeEngine['mounts'] = [];
  /** Whether it serves links to files. */
  fileLinks = false;
  /** Deleted servers whose files it reports as gone. */
  purged: readonly string[] = [];
  /** Its SFTP server. */
  sftp: NodeHeartbeat['sftp'] = null;
  /** Called before each answer. */
  delayMs = 0;
  readonly link: AgentSide;
  readonly #emitter = new EventEmitter();

  constructor(
    nodes: Pick<MemoryLink, 'connect'>,
    name: string,
    credential: string,
    instance = 'one',
  ) {
    this.name = name;
    this.instance = instance;
    this.link = nodes.connect({ kind: 'node', name }, credential);
    this.link.onCall(async (call) => {
      if (call.kind === 'node.call') return this.#take(call);
      if (call.kind !== 'node.image') return null;
      this.images.push(call.name);
      return { kind: 'accepted' };
    });
  }

  /** Connected and greeted. */
  async join(): Promise<this> {
    await new Promise<void>((resolve) => this.link.onConnect(resolve));
    await this.say({ kind: 'node.hello', protocolVersion: 1, instance: this.instance });
    return this;
  }

  say(request: NodeRequest): Promise<ControlReply> {
    return this.link.request(request, TIMEOUT_MS);
  }

  /** Sends a heartbeat with these builds. */
  beat(
    ...builds: readonly (Partial<ServerBuild> & { readonly uuid: string })[]
  ): Promise<ControlReply> {
    return this.say({
      kind: 'node.heartbeat',
      instance: this.instance,
      engine: {
        kind: 'fake',
        version: '1',
        problem: null,
        host: this.host,
        mounts: this.mounts,
        fileLinks: this.fileLinks,
      },
      purged: this.purged,
      sftp: this.sftp,
      builds: builds.map((build) => ({
        epoch: 1,
        state: 'built',
        reason: null,
        log: null,
        power: 'offline',
        crashedAtMs: null,
        resources: null,
        ...build,
      })),
    });
  }

  /** Resolves after this number of calls; rejects after some seconds. */
  async called(times: number): Promise<void> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    while (this.calls.length < times) await once(this.#emitter, 'call', { signal });
  }

  async #take(call: NodeCall): Promise<NodeAnswer | null> {
    this.calls.push(call);
    this.#emitter.emit('call');
    const answer = this.answer(call);
    if (this.delayMs > 0) await delay(this.delayMs);
    return answer;
  }
}

export const RESOURCES = {
  memoryBytes: 512,
  memoryLimitBytes: 1024,
  cpuAbsolute: 12.345,
  diskBytes: 7,
  networkRxBytes: 8,
  networkTxBytes: 9,
  uptimeMs: 61_000,
} as const;

export function stateAnswer(
  state: ServerState,
  problem: string | null = null,
  launched: Readonly<Record<string, string>> | null = null,
): NodeAnswer {
  return { kind: 'state', state, resources: RESOURCES, problem, launched };
}
