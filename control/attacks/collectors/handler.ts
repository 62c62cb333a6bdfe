import { sql } from 'kysely';
import type {
  AssignedExporter,
  CollectorHello,
  CollectorReport,
  CollectorRequest,
} from '@portcullis/link/messages/collector.ts';
import {
  type AgentRef,
  type ControlReply,
  OLDEST_PROTOCOL_VERSION,
  PROTOCOL_VERSION,
  type Refused,
} from '@portcullis/link/messages/messages.ts';
import type { WatchRequest } from '@portcullis/link/messages/attacks.ts';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import { AgentScopes, type BoundRequest } from '../../agents/scope.ts';
import type { Db } from '../../db/database.ts';
import { isUnavailable } from '../../db/failure.ts';
import type { CollectorExporter } from '../../db/schema.ts';
import { answerDetection, type DetectionService } from '../../agents/detection-service.ts';

const REPORT_MS = 10_000;
/** Notices may be lost. */
const RESYNC_MS = 30_000;

export interface CollectorHandlerOptions {
  readonly db: Db;
  readonly watch: DetectionService;
  readonly failed: (what: string, error: unknown) => void;
}

/** Answers collectors. Never rejects. */
export function createCollectorHandler(
  options: CollectorHandlerOptions,
): (name: string, request: CollectorRequest) => Promise<ControlReply> {
  const session = new CollectorSession(options);
  const scopes = new AgentScopes(options.db);
  return async (name, request) => {
    try {
      const bound = await scopes.bind({ kind: 'collector', name }, request);
      return bound === null ? unknown(name) : await session.answer(name, bound);
    } catch (error) {
      options.failed(`answering collector ${name}`, error);
      return refuse(
        'unavailable',
        isUnavailable(error)
          ? 'The database does not answer at the moment. Ask again.'
          : 'Control failed at this request; its log says why. Ask again.',
      );
    }
  };
}

class CollectorSession {
  readonly #options: CollectorHandlerOptions;
  /** The instance of the last hello by name: only its samples count. */
  readonly #instances = new Map<string, string>();

  constructor(options: CollectorHandlerOptions) {
    this.#options = options;
  }

  async answer(name: string, bound: BoundRequest<CollectorRequest>): Promise<ControlReply> {
    const { request } = bound;
    if (request.kind === 'collector.hello') return this.#hello(name, request);
    if (request.kind === 'collector.report') return this.#report(name, request);
    return this.#watch({ kind: 'collector', name }, bound as BoundRequest<WatchRequest>);
  }

  async #hello(name: string, { instance, protocolVersion }: CollectorHello): Promise<ControlReply> {
    if (protocolVersion < OLDEST_PROTOCOL_VERSION) {
      return refuse(
        'unsupported',
        `This agent speaks version ${protocolVersion}; the oldest that control understands is ${OLDEST_PROTOCOL_VERSION}. Update the agent.`,
      );
    }
    const { rows } = await sql<{
      readonly listen: string;
      readonly exporters: readonly CollectorExporter[];
    }>`
      update collectors set instance = ${instance}, last_seen_at = now() where name = ${name}
      returning listen, exporters`.execute(this.#options.db);
    const [settings] = rows;
    if (settings === undefined) {
      this.#instances.delete(name);
      return unknown(name);
    }
    this.#instances.set(name, instance);
    return {
      kind: 'collector.welcome',
      protocolVersion: Math.min(protocolVersion, PROTOCOL_VERSION),
      settings: { ...settings, exporters: settings.exporters.map(assigned) },
      reportMs: REPORT_MS,
      resyncMs: RESYNC_MS,
    };
  }

  async #report(name: string, { instance, report }: CollectorReport): Promise<ControlReply> {
    const { rows } = await sql`
      update collectors set report = ${JSON.stringify(report)}::jsonb, last_seen_at = now()
       where name = ${name} and instance = ${instance} returning 1`.execute(this.#options.db);
    return rows.length === 0 ? sayHello() : { kind: 'done' };
  }

  async #watch(from: AgentRef, bound: BoundRequest<WatchRequest>): Promise<ControlReply> {
    if (this.#instances.get(from.name) !== bound.request.instance) return sayHello();
    return answerDetection(this.#options.watch, from, bound);
  }
}

function assigned({ ip, samplingRate, prefixes }: CollectorExporter): AssignedExporter {
  if (prefixes === 'all') return { ip, samplingRate, prefixes: null };
  const networks = prefixes.flatMap((text) => {
    const cidr = parseCidr(text);
    return cidr.ok ? [formatNetwork(cidr.value)] : [];
  });
  return { ip, samplingRate, prefixes: networks };
}

function unknown(name: string): Refused {
  return refuse('unknown_agent', `The fleet has no collector named ${name}.`);
}

function sayHello(): Refused {
  return refuse('resync', 'Another instance speaks for this collector, or control is a new one.');
}

function refuse(code: Refused['code'], detail: string): Refused {
  return { kind: 'refused', code, detail };
}
