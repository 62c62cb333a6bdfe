import { sql } from 'kysely';
import type { SubjectSample } from '@portcullis/core/attacks/sample.ts';
import { type Cidr, containsCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type { WatchSamples, WireSample } from '@portcullis/link/messages/attacks.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { Db } from '../../db/database.ts';

/** The size of the cache of checked addresses. */
const MAX_REMEMBERED = 131_072;

/** Checks subjects against the prefixes that an agent serves. */
class Served {
  readonly #prefixes: readonly Cidr[];
  readonly #within: NearestScope<true>;
  readonly #around = new Map<string, string>();

  constructor(serves: readonly string[]) {
    this.#prefixes = serves.flatMap((text) => {
      const cidr = parseCidr(text);
      return cidr.ok ? [cidr.value] : [];
    });
    this.#within = new NearestScope(serves.map((text) => [text, true] as const));
  }

  /** An address inside them, or a prefix that overlaps them. */
  has(subject: string): boolean {
    if (this.#within.of(subject) !== null) return true;
    if (!subject.includes('/')) return false;
    const cidr = parseCidr(subject);
    return cidr.ok && this.#prefixes.some((prefix) => containsCidr(cidr.value, prefix));
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
}

export interface WatchAgent {
  /** Within a site the largest count wins; sites are added. */
  readonly site: string;
  readonly served: Served;
}

interface Row {
  readonly agent: string;
  readonly site: string;
  readonly serves: string[];
}

/** The agents that may send samples, by the fleet. */
export class WatchAgents {
  #known = new Map<string, WatchAgent & { readonly spelled: string }>();

  /** Null if it is no agent of the fleet. */
  of({ kind, name }: AgentRef): WatchAgent | null {
    return this.#known.get(`${kind}/${name}`) ?? null;
  }

  /**
   * A collector without a site has that of the first edge, as on one box. Collectors have no `serves`: exporters see
   * all traffic routed by them.
   */
  async load(db: Db): Promise<void> {
    const { rows } = await sql<Row>`
      select 'edge/' || name as agent, site, serves::text[] as serves from edges
      union all
      select 'collector/' || name,
             coalesce(site, (select site from edges order by id limit 1), name),
             '{0.0.0.0/0,::/0}' from collectors`.execute(db);
    this.#known = new Map(
      rows.map(({ agent, site, serves }) => {
        const spelled = serves.join(' ');
        const before = this.#known.get(agent);
        const served = before?.spelled === spelled ? before.served : new Served(serves);
        return [agent, { site, served, spelled }];
      }),
    );
  }
}

interface ServedSamples {
  readonly message: WatchSamples;
  /** An example and the number of refused parts. */
  readonly first: string | null;
  readonly refused: number;
}

/** Keeps the parts of a sample that the agent may report. */
export function servedSamples(message: WatchSamples, served: Served): ServedSamples {
  let first: string | null = null;
  let refused = 0;
  const only = <T extends { readonly subject: string }>(
    all: readonly T[],
    isTrue: (one: T) => boolean,
  ): readonly T[] => {
    const kept = all.filter((one) => {
      if (isTrue(one)) return true;
      first ??= one.subject;
      refused++;
      return false;
    });
    return kept.length === all.length ? all : kept;
  };
  // An address with a wrong prefix would remove its traffic from that prefix.
  const isTrue = ({ subject, prefix }: SubjectSample): boolean =>
    served.has(subject) && (prefix === null || served.isInside(subject, prefix));
  const samples = message.samples.map(
    (sample): WireSample => ({
      ...sample,
      addresses: only(sample.addresses, isTrue),
      prefixes: only(sample.prefixes, isTrue),
      tops: only(sample.tops, ({ subject }) => served.has(subject)),
    }),
  );
  return { message: { ...message, samples }, first, refused };
}
