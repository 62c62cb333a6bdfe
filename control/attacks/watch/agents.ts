import { sql } from 'kysely';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { Db } from '../../db/database.ts';
import { Served } from './served-prefixes.ts';

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
