import {
  type ControlReply,
  isRequestOf,
  OLDEST_PROTOCOL_VERSION,
  PROTOCOL_VERSION,
  type Refused,
} from '@portcullis/link/messages/messages.ts';
import type { WatchRequest } from '@portcullis/link/messages/attacks.ts';
import {
  MAX_REFUSED_TARGETS,
  type EdgeConfirm,
  type EdgeDropReport,
  type EdgeHeartbeat,
  type EdgeHello,
  type EdgeRequest,
  type EdgeSync,
} from '@portcullis/link/messages/edge.ts';
import type { AgentHandler } from '@portcullis/link/transport/transport.ts';
import {
  answerDetection,
  type DetectionService,
  NO_DETECTION,
} from '../agents/detection-service.ts';
import { AgentScopes, type BoundRequest } from '../agents/scope.ts';
import type { Db } from '../db/database.ts';
import { isUnavailable } from '../db/failure.ts';
import { recordDrops } from './edges/drops.ts';
import { type Confirmed, Confirmations } from './edges/confirmations.ts';
import {
  loadEdge,
  loadMoment,
  markLive,
  recordHeartbeat,
  recordHello,
  recordWholeSync,
} from './edges/store.ts';
import type { FleetEvents } from './events.ts';
import type { SyncService } from './sync/sync.ts';

/** An edge not seen for this time is out of service. */
export const LEASE_MS = 60_000;
/** Four heartbeats per lease. */
const HEARTBEAT_MS = 15_000;
/** How often an edge syncs without a notification, because notifications may be lost. */
const RESYNC_MS = 30_000;

interface EdgeHandlerOptions {
  readonly db: Db;
  readonly sync: SyncService;
  readonly events: FleetEvents;
  /** When absent, measurements are answered with `unsupported`. */
  readonly watch?: DetectionService;
  readonly heartbeatMs?: number;
  readonly resyncMs?: number;
}

/** Answers edges. Never rejects: on an error the agent gets a refusal that says what to do. */
export function createEdgeHandler(options: EdgeHandlerOptions): AgentHandler {
  const session = new EdgeSession(options);
  const scopes = new AgentScopes(options.db);
  return async (from, request) => {
    try {
      if (from.kind !== 'edge') return refuse('unsupported', 'Only edges are served here.');
      if (!isRequestOf('edge', request)) {
        return refuse('unsupported', 'This control plane does not know that kind of message.');
      }
      const bound = await scopes.bind(from, request);
      return bound === null ? unknownAgent(from.name) : await session.answer(from.name, bound);
    } catch (error) {
      options.events.failed(`answering edge ${from.name}`, error);
      return refuse(
        'unavailable',
        isUnavailable(error)
          ? 'The database does not answer at the moment. Ask again.'
          : 'Control failed at this request; its log says why. Ask again.',
      );
    }
  };
}

class EdgeSession {
  readonly #options: EdgeHandlerOptions;
  readonly #confirmations: Confirmations;

  constructor(options: EdgeHandlerOptions) {
    this.#options = options;
    this.#confirmations = new Confirmations(options.db, options.events);
  }

  async answer(name: string, bound: BoundRequest<EdgeRequest>): Promise<ControlReply> {
    const { request, outside } = bound;
    if (outside !== null && request.kind !== 'watch.samples' && request.kind !== 'edge.attacks') {
      this.#options.events.spokeOutside(name, request.kind, outside);
    }
    switch (request.kind) {
      case 'edge.hello':
        return this.#hello(name, request);
      case 'edge.sync':
        return this.#sync(name, request);
      case 'edge.confirm':
        return this.#confirm(name, request);
      case 'edge.heartbeat':
        return this.#heartbeat(name, request);
      case 'edge.drops':
        return this.#drops(name, request);
      case 'detection.getSettings':
      case 'watch.samples':
      case 'edge.attacks':
      default:
        return answerDetection(
          this.#options.watch ?? NO_DETECTION,
          { kind: 'edge', name },
          bound as BoundRequest<WatchRequest>,
        );
    }
  }

  async #hello(name: string, hello: EdgeHello): Promise<ControlReply> {
    if (hello.protocolVersion < OLDEST_PROTOCOL_VERSION) {
      return refuse(
        'unsupported',
        `This agent speaks version ${hello.protocolVersion}; the oldest that control understands is ${OLDEST_PROTOCOL_VERSION}. Update the agent.`,
      );
    }
    const { db, sync, events } = this.#options;
    const { instance, mode, modeReason } = hello;
    const greeted = await recordHello(db, { name, instance, mode, modeReason });
    if (greeted === null) return unknownAgent(name);
    if (greeted.isNew) sync.forget(name);
    events.edgeHello(name, mode, modeReason, greeted.isNew);
    if (greeted.leftService)
      await this.#reportLeft(
        name,
        mode === 'enforce' ? 'it restarted' : (modeReason ?? 'it observes now'),
      );
    return {
      kind: 'edge.welcome',
      protocolVersion: Math.min(hello.protocolVersion, PROTOCOL_VERSION),
      generation: greeted.generation,
      settings: greeted.edge.settings,
      heartbeatMs: this.#options.heartbeatMs ?? HEARTBEAT_MS,
      resyncMs: this.#options.resyncMs ?? RESYNC_MS,
    };
  }

  async #sync(name: string, request: EdgeSync): Promise<ControlReply> {
    const { db, sync, events } = this.#options;
    const now = await loadMoment(db, name, request.after);
    if (now === null) return unknownAgent(name);
    const { edge } = now;
    if (edge.instance !== request.instance) return resyncNeeded();
    const sent =
      request.cursor === null
        ? await sync.begin(now, request)
        : await sync.next(edge, request, request.cursor);
    if (sent.kind === 'refused') return sent;
    const { page, policies } = sent;
    if (page.next === null) {
      if (edge.needsWholeSync) await recordWholeSync(db, edge);
      events.synced(name, page.generation, page.whole, policies);
    }
    return page;
  }

  async #confirm(name: string, request: EdgeConfirm): Promise<ControlReply> {
    const { sync, events } = this.#options;
    const { instance, generation, refused } = request;
    if (refused.length > MAX_REFUSED_TARGETS) return tooManyRefused(refused.length);
    const confirmed = await this.#confirmations.record({ name, instance, generation, refused });
    const refusal = refusalOf(confirmed, name, generation);
    if (refusal !== null) return refusal;
    sync.forget(name);
    events.targetsRefused(name, refused);
    if (confirmed.kind === 'counted' && confirmed.joined) events.edgeJoined(name, generation);
    return { kind: 'done' };
  }

  async #heartbeat(name: string, beat: EdgeHeartbeat): Promise<ControlReply> {
    const { instance, mode, modeReason, report } = beat;
    const recorded = await recordHeartbeat(this.#options.db, {
      name,
      instance,
      mode,
      modeReason,
      report,
    });
    if (recorded === 'unknown') return unknownAgent(name);
    if (recorded === 'resync') return resyncNeeded();
    if (recorded.leftService) await this.#reportLeft(name, modeReason ?? 'it observes now');
    return { kind: 'done' };
  }

  async #drops(name: string, report: EdgeDropReport): Promise<ControlReply> {
    const { db, events } = this.#options;
    const edge = await loadEdge(db, name);
    if (edge === null) return unknownAgent(name);
    if (edge.instance !== report.instance) return resyncNeeded();
    const recorded = await recordDrops(db, edge, report, Date.now());
    if (recorded === 'counted') events.dropsCounted(name, report.drops.entries);
    return { kind: 'done' };
  }

  async #reportLeft(name: string, why: string): Promise<void> {
    this.#options.events.edgeLeft(name, why);
    this.#options.events.generationsLive(await markLive(this.#options.db));
  }
}

function refusalOf(confirmed: Confirmed, name: string, generation: number): Refused | null {
  switch (confirmed.kind) {
    case 'unknown':
      return unknownAgent(name);
    case 'resync':
      return resyncNeeded();
    case 'future':
      return refuse(
        'resync',
        `Generation ${generation} was never accepted here: was the database restored from a backup? Fetch everything again.`,
      );
    case 'stale':
      return refuse(
        'stale',
        `Generation ${generation} is older than ${confirmed.confirmed}, which this edge confirmed already. Generations never go back.`,
      );
    case 'counted':
    case 'recorded':
    default:
      return null;
  }
}

/** Nothing of it is recorded: a part would call addresses live that are not. */
function tooManyRefused(count: number): Refused {
  return refuse(
    'unavailable',
    `A confirmation names at most ${MAX_REFUSED_TARGETS} addresses that could not be applied; this one names ${count}. The generation does not count as applied.`,
  );
}

function unknownAgent(name: string): Refused {
  return refuse('unknown_agent', `The fleet has no edge named ${name}. Add it to the fleet file.`);
}

function resyncNeeded(): Refused {
  return refuse(
    'resync',
    'Another instance has taken over this edge, or its lease expired. Send a hello and sync whole.',
  );
}

function refuse(code: Refused['code'], detail: string): Refused {
  return { kind: 'refused', code, detail };
}
