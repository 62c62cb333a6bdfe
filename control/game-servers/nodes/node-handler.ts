import {
  type ControlReply,
  OLDEST_PROTOCOL_VERSION,
  PROTOCOL_VERSION,
  type Refused,
} from '@portcullis/link/messages/messages.ts';
import type {
  NodeHeartbeat,
  NodeHello,
  NodeRequest,
  NodeSync,
} from '@portcullis/link/messages/node.ts';
import type { SftpRequest } from '@portcullis/link/messages/sftp.ts';
import { AgentScopes, type BoundRequest } from '../../agents/scope.ts';
import type { Db } from '../../db/database.ts';
import { isUnavailable } from '../../db/failure.ts';
import type { GameServerEvents } from '../events.ts';
import { loadCallerRights } from '../files/caller-rights.ts';
import { loadPage } from './assignments.ts';
import type { PowerStates } from './power-states.ts';
import { loadNode, recordHeartbeat, recordHello } from './store.ts';

/** The heartbeat interval: four within the time after which a node counts as away. */
const HEARTBEAT_MS = 15_000;
/** The resync interval of nodes, because notices may be lost. */
const RESYNC_MS = 30_000;

export interface NodeHandlerDeps {
  readonly db: Db;
  readonly powers: PowerStates;
  readonly events: GameServerEvents;
  readonly sftp: SftpAnswers;
}

export interface SftpAnswers {
  answer(node: string, request: SftpRequest): Promise<ControlReply>;
}

/** Answers requests of nodes. */
export class NodeHandler {
  readonly #deps: NodeHandlerDeps;
  readonly #scopes: AgentScopes;

  constructor(deps: NodeHandlerDeps) {
    this.#deps = deps;
    this.#scopes = new AgentScopes(deps.db);
  }

  /** Never rejects: a node gets a refusal that says what to do. */
  async answer(node: string, request: NodeRequest): Promise<ControlReply> {
    try {
      const bound = await this.#scopes.bind({ kind: 'node', name: node }, request);
      return bound === null ? unknownNode(node) : await this.#answer(node, bound);
    } catch (error) {
      this.#deps.events.failed(`answering node ${node}`, error);
      return refuse(
        'unavailable',
        isUnavailable(error)
          ? 'The database does not answer at the moment. Ask again.'
          : 'Control failed at this request; its log says why. Ask again.',
      );
    }
  }

  async #answer(
    name: string,
    { request, outside }: BoundRequest<NodeRequest>,
  ): Promise<ControlReply> {
    if (outside !== null) this.#deps.events.foreignNamed(name, outside);
    switch (request.kind) {
      case 'node.hello':
        return this.#hello(name, request);
      case 'node.sync':
        return this.#sync(name, request);
      case 'node.heartbeat':
        return this.#heartbeat(name, request);
      case 'sftp.login':
      case 'sftp.check':
      case 'sftp.activity':
        return this.#deps.sftp.answer(name, request);
      case 'files.check': {
        const rights = await loadCallerRights(this.#deps.db, name, request.callers);
        return { kind: 'files.rights', rights };
      }
      default:
        return refuse('unsupported', 'This control plane does not know that kind of message.');
    }
  }

  async #hello(name: string, hello: NodeHello): Promise<ControlReply> {
    if (hello.protocolVersion < OLDEST_PROTOCOL_VERSION) {
      return refuse(
        'unsupported',
        `This agent speaks version ${hello.protocolVersion}; the oldest that control understands is ${OLDEST_PROTOCOL_VERSION}. Update the agent.`,
      );
    }
    const { db, events } = this.#deps;
    if (!(await recordHello(db, name, hello.instance))) return unknownNode(name);
    events.nodeGreeted(name);
    return {
      kind: 'node.welcome',
      protocolVersion: Math.min(hello.protocolVersion, PROTOCOL_VERSION),
      heartbeatMs: HEARTBEAT_MS,
      resyncMs: RESYNC_MS,
    };
  }

  async #sync(name: string, request: NodeSync): Promise<ControlReply> {
    const { db } = this.#deps;
    const node = await loadNode(db, name);
    if (node === null) return unknownNode(name);
    if (node.instance !== request.instance) return sayHello();
    return loadPage(db, node, request);
  }

  async #heartbeat(name: string, beat: NodeHeartbeat): Promise<ControlReply> {
    const { db, events, powers } = this.#deps;
    const { engine, builds } = beat;
    const recorded = await recordHeartbeat(db, { ...beat, name });
    if (recorded.kind !== 'recorded') {
      return recorded.kind === 'unknown' ? unknownNode(name) : sayHello();
    }
    powers.report(name, builds);
    events.engineReported(name, engine);
    events.portsChanged(name, recorded.ports);
    for (const build of recorded.changed) events.buildChanged(name, build);
    return { kind: 'done' };
  }
}

function unknownNode(name: string): Refused {
  return refuse('unknown_agent', `The fleet has no node named ${name}. Add it to the fleet file.`);
}

function sayHello(): Refused {
  return refuse('resync', 'Another instance speaks for this node. Say hello and sync.');
}

function refuse(code: Refused['code'], detail: string): Refused {
  return { kind: 'refused', code, detail };
}
