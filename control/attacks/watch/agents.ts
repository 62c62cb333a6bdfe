import { sql } from 'kysely';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { Db } from '../../db/database.ts';
import { Served } from './served.ts';

export interface WatchAgent {
  /** Of one site the most that anybody saw counts, of several the sum. */
  readonly site: string;
  readonly served: Served;
}

interface Row {
  readonly agent: string;
  readonly site: string;
  readonly serves: string[];
}

/** Who may tell what is measured, as the fleet has them. */
export class WatchAgents {
  #known = new Map<string, WatchAgent & { readonly spelled: string }>();

  /** Null: no agent of the fleet. */
  of({ kind, name }: AgentRef): WatchAgent | null {
    return this.#known.get(`${kind}/${name}`) ?? null;
  }

  /**
   * A collector without a site of its own sees what the first edge sees, as on one box. What collectors serve nobody
   * says: exporters see whatever is routed by them.
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
