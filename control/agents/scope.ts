import { type Cidr, containsCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type { SubjectSample } from '@portcullis/core/attacks/sample.ts';
import type { WireSample } from '@portcullis/link/messages/attacks.ts';
import type { AgentRef, AgentRequest } from '@portcullis/link/messages/messages.ts';
import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { CollectorExporter } from '../db/schema.ts';

/** The size of the cache of checked addresses. */
const MAX_REMEMBERED = 131_072;
/** How old a scope may be by which samples are bounded: they arrive several times a second. */
const SCOPE_MS = 2_000;
const MAX_EXAMPLES = 10;

/** The objects that the fleet lets one agent speak of. */
export class AgentScope {
  /** Within a site the largest count wins; sites are added. Of nodes it is empty. */
  readonly site: string;
  /** Its prefixes, for comparison. */
  readonly spelled: string;
  readonly #isShared: boolean;
  readonly #prefixes: readonly Cidr[];
  readonly #within: NearestScope<true>;
  readonly #around = new Map<string, string>();
  /** Known servers that the request names, and whether they are the node's. */
  readonly #servers: ReadonlyMap<string, boolean>;

  constructor({ site, prefixes, servers, isShared }: ScopeRow) {
    this.site = site;
    this.spelled = prefixes.join(' ');
    this.#isShared = isShared;
    this.#prefixes = prefixes.flatMap((text) => {
      const cidr = parseCidr(text);
      return cidr.ok ? [cidr.value] : [];
    });
    this.#within = new NearestScope(prefixes.map((text) => [text, true] as const));
    this.#servers = servers;
  }

  /**
   * An address or prefix inside its prefixes. An edge speaks of a larger prefix too, of which it serves and counts a part;
   * of the prefixes of a collector's exporters, none is a part.
   */
  covers(subject: string): boolean {
    if (this.#within.of(subject) !== null) return true;
    if (!this.#isShared || !subject.includes('/')) return false;
    const cidr = parseCidr(subject);
    return cidr.ok && this.#prefixes.some((prefix) => containsCidr(cidr.value, prefix));
  }

  /** The parts: those of its prefixes that are parts of a larger one; null if it may speak of the whole. */
  partsOf(subject: string): readonly Cidr[] | null {
    if (this.#within.of(subject) !== null) return null;
    const cidr = parseCidr(subject);
    return cidr.ok ? this.#prefixes.filter((prefix) => containsCidr(cidr.value, prefix)) : [];
  }

  /** Whether an address is in the prefix that the agent reports. */
  isInside(subject: string, prefix: string): boolean {
    if (this.#around.get(subject) === prefix) return true;
    const [inner, outer] = [parseCidr(subject), parseCidr(prefix)];
    if (!inner.ok || !outer.ok || !containsCidr(outer.value, inner.value)) return false;
    if (this.#around.size >= MAX_REMEMBERED) this.#around.clear();
    this.#around.set(subject, prefix);
    return true;
  }

  /** False also for a server that is gone, of which its node may not have heard. */
  isKnown(server: string): boolean {
    return this.#servers.has(server);
  }

  owns(server: string): boolean {
    return this.#servers.get(server) === true;
  }
}

interface ScopeRow {
  readonly site: string;
  readonly prefixes: readonly string[];
  readonly servers: ReadonlyMap<string, boolean>;
  readonly isShared: boolean;
}

/** Parts of a request that were removed, because they are not the agent's to speak of. */
export interface Outside {
  readonly count: number;
  /** The first ones. */
  readonly examples: readonly string[];
}

/**
 * A request without what its agent may not speak of. Only `AgentScopes` can make one, and handlers take nothing else.
 */
class BoundRequest<R extends AgentRequest = AgentRequest> {
  /** Makes the type nominal. */
  protected readonly isBound = true;
  readonly request: R;
  /** Empty for a request that speaks of the agent alone. */
  readonly site: string;
  /** Null if nothing was removed. */
  readonly outside: Outside | null;

  constructor(request: R, site: string, outside: Outside | null) {
    this.request = request;
    this.site = site;
    this.outside = outside;
  }
}

export type { BoundRequest };

/** Keeps what is the agent's, and takes note of the rest. */
type Keep = <T>(
  all: readonly T[],
  isOwn: (one: T) => boolean,
  nameOf: (one: T) => string,
) => readonly T[];

interface Speech<R> {
  /** Whether this request speaks of the agent alone, so that its scope need not be read. */
  readonly isSilent?: (request: R) => boolean;
  readonly bind: (request: R, scope: AgentScope, keep: Keep) => R;
}

/**
 * The objects that each kind of request speaks of beside the agent itself, and how that is bounded. A new kind does
 * not compile without its entry. Replies are not here: they say nothing that the agent did not ask.
 */
const SPEECH: {
  readonly [K in AgentRequest['kind']]: 'itself' | Speech<Extract<AgentRequest, { kind: K }>>;
} = {
  'agent.renew': 'itself',
  'edge.hello': 'itself',
  'edge.sync': 'itself',
  'edge.heartbeat': 'itself',
  'detection.getSettings': 'itself',
  'collector.hello': 'itself',
  'collector.report': 'itself',
  'node.hello': 'itself',
  'node.sync': 'itself',
  // Answered by the id of the node, for its own servers.
  'sftp.login': 'itself',
  'sftp.check': 'itself',
  'sftp.activity': 'itself',
  'files.check': 'itself',
  'edge.confirm': {
    isSilent: ({ refused }) => refused.length === 0,
    bind: (request, scope, keep) => ({
      ...request,
      refused: keep(
        request.refused,
        ({ target }) => scope.covers(target),
        ({ target }) => target,
      ),
    }),
  },
  'edge.drops': {
    bind: ({ drops, ...request }, scope, keep) => ({
      ...request,
      drops: {
        ...drops,
        entries: keep(
          drops.entries,
          ({ target }) => scope.covers(target),
          ({ target }) => target,
        ),
        samples: keep(
          drops.samples,
          ({ target, destination }) => scope.covers(destination) && scope.covers(target),
          ({ destination }) => destination,
        ),
        passed: keep(
          drops.passed ?? [],
          ({ destination }) => scope.covers(destination),
          ({ destination }) => destination,
        ),
      },
    }),
  },
  'watch.samples': {
    bind: (request, scope, keep) => ({
      ...request,
      samples: request.samples.map((sample) => ownSample(sample, scope, keep)),
    }),
  },
  'edge.attacks': {
    bind: (request, scope, keep) => ({
      ...request,
      attacks: keep(
        request.attacks,
        ({ subject }) => scope.covers(subject),
        ({ subject }) => subject,
      ),
    }),
  },
  'node.heartbeat': {
    isSilent: ({ builds }) => builds.length === 0,
    bind: (request, scope, keep) => ({
      ...request,
      builds: keep(
        request.builds.filter(({ uuid }) => scope.isKnown(uuid)),
        ({ uuid }) => scope.owns(uuid),
        ({ uuid }) => uuid,
      ),
    }),
  },
};

function ownSample(sample: WireSample, scope: AgentScope, keep: Keep): WireSample {
  const nameOf = ({ subject }: { readonly subject: string }): string => subject;
  // An address with a wrong prefix would remove its traffic from that prefix.
  const isOwn = ({ subject, prefix }: SubjectSample): boolean =>
    scope.covers(subject) && (prefix === null || scope.isInside(subject, prefix));
  return {
    ...sample,
    addresses: keep(sample.addresses, isOwn, nameOf),
    prefixes: keep(sample.prefixes, isOwn, nameOf),
    tops: keep(sample.tops, ({ subject }) => scope.covers(subject), nameOf),
  };
}

interface Cached {
  readonly scope: AgentScope;
  readonly atMs: number;
}

/** Bounds the requests of agents by the fleet. */
export class AgentScopes {
  readonly #db: Db;
  readonly #known = new Map<string, Cached>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Null if the fleet has no such agent and the request speaks of more than the agent. */
  async bind<R extends AgentRequest>(from: AgentRef, request: R): Promise<BoundRequest<R> | null> {
    const speech = SPEECH[request.kind] as 'itself' | Speech<R>;
    if (speech === 'itself' || speech.isSilent?.(request) === true) {
      return new BoundRequest(request, '', null);
    }
    const scope =
      request.kind === 'watch.samples'
        ? await this.#recent(from, request)
        : await this.#load(from, request);
    if (scope === null) return null;
    let count = 0;
    const examples: string[] = [];
    const keep: Keep = (all, isOwn, nameOf) => {
      const kept = all.filter((one) => {
        if (isOwn(one)) return true;
        count += 1;
        if (examples.length < MAX_EXAMPLES) examples.push(nameOf(one));
        return false;
      });
      return kept.length === all.length ? all : kept;
    };
    const own = speech.bind(request, scope, keep);
    return new BoundRequest(own, scope.site, count === 0 ? null : { count, examples });
  }

  /** The last known scope, which counts on without the database: detection continues without it. */
  async #recent(from: AgentRef, request: AgentRequest): Promise<AgentScope | null> {
    const known = this.#known.get(keyOf(from));
    if (known === undefined) return this.#load(from, request);
    if (performance.now() - known.atMs > SCOPE_MS) {
      this.#known.set(keyOf(from), { ...known, atMs: performance.now() });
      void this.#load(from, request).catch(() => {});
    }
    return known.scope;
  }

  async #load(from: AgentRef, request: AgentRequest): Promise<AgentScope | null> {
    const row = await LOADERS[from.kind](this.#db, from.name, request);
    const key = keyOf(from);
    if (row === null) {
      this.#known.delete(key);
      return null;
    }
    if (from.kind === 'node') return new AgentScope(row);
    const before = this.#known.get(key)?.scope;
    const isSame = before?.site === row.site && before.spelled === row.prefixes.join(' ');
    const scope = isSame ? before : new AgentScope(row);
    this.#known.set(key, { scope, atMs: performance.now() });
    return scope;
  }
}

function keyOf({ kind, name }: AgentRef): string {
  return `${kind}/${name}`;
}

type Load = (db: Db, name: string, request: AgentRequest) => Promise<ScopeRow | null>;

const NO_SERVERS: ReadonlyMap<string, boolean> = new Map();

const LOADERS: Readonly<Record<AgentRef['kind'], Load>> = {
  async edge(db, name) {
    const { rows } = await sql<{ site: string; prefixes: string[] }>`
      select site, serves::text[] as prefixes from edges where name = ${name}`.execute(db);
    return rows[0] === undefined ? null : { ...rows[0], servers: NO_SERVERS, isShared: true };
  },
  /** A collector without a site has that of the first edge, as on one box. */
  async collector(db, name) {
    const { rows } = await sql<{ site: string; exporters: CollectorExporter[] }>`
      select coalesce(site, (select site from edges order by id limit 1), name) as site, exporters
        from collectors where name = ${name}`.execute(db);
    const [row] = rows;
    if (row === undefined) return null;
    const prefixes = prefixesOf(row.exporters);
    return { site: row.site, prefixes, servers: NO_SERVERS, isShared: false };
  },
  async node(db, name, request) {
    const named = request.kind === 'node.heartbeat' ? request.builds.map(({ uuid }) => uuid) : [];
    const { rows } = await sql<{ servers: Record<string, boolean> }>`
      select (select coalesce(json_object_agg(s.uuid, s.node_id is not distinct from n.id), '{}')
                from game_servers s where s.uuid = any(${named}::uuid[])) as servers
        from nodes n where n.name = ${name}`.execute(db);
    const [row] = rows;
    if (row === undefined) return null;
    const servers = new Map(Object.entries(row.servers));
    return { site: '', prefixes: [], servers, isShared: false };
  },
};

/** The scopes of all edges by name; one whose prefixes are the same is kept. */
export async function loadEdgeScopes(
  db: Db,
  before: ReadonlyMap<string, AgentScope>,
): Promise<ReadonlyMap<string, AgentScope>> {
  const { rows } = await sql<{ name: string; site: string; prefixes: string[] }>`
    select name, site, serves::text[] as prefixes from edges`.execute(db);
  return new Map(
    rows.map(({ name, site, prefixes }) => {
      const known = before.get(name);
      if (known?.site === site && known.spelled === prefixes.join(' ')) return [name, known];
      return [name, new AgentScope({ site, prefixes, servers: NO_SERVERS, isShared: true })];
    }),
  );
}

/** Prefixes that the exporters of a collector may speak for, together. */
export function prefixesOf(exporters: readonly CollectorExporter[]): readonly string[] {
  const all = exporters.flatMap(({ prefixes }) =>
    prefixes === 'all' ? ['0.0.0.0/0', '::/0'] : prefixes,
  );
  return [...new Set(all)];
}
