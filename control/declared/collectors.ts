import { sql } from 'kysely';
import type { CollectorExporter } from '../db/schema.ts';
import type { Batch } from '../fleet/batch.ts';
import type { Tx } from '../db/database.ts';
import type { Parsed } from '@portcullis/core/net/parsed.ts';

/** An exporter as the operator declares it. */
export interface DeclaredExporter extends Omit<CollectorExporter, 'prefixes'> {
  /** Null: not said. */
  readonly prefixes: CollectorExporter['prefixes'] | null;
}

/**
 * Completes exporters: what is not said stays as it is: exporters of before this had to be said keep everything. A
 * new exporter has to say what it is believed of. Returns its address if it does not.
 */
export function completeExporters(
  declared: readonly DeclaredExporter[],
  before: readonly CollectorExporter[],
): Parsed<readonly CollectorExporter[]> {
  const known = new Map(before.map(({ ip, prefixes }) => [ip, prefixes]));
  const complete: CollectorExporter[] = [];
  for (const { prefixes: said, ...exporter } of declared) {
    const prefixes = said ?? known.get(exporter.ip);
    if (prefixes === undefined) return { ok: false, reason: unsaid(exporter.ip) };
    complete.push({ ...exporter, prefixes });
  }
  return { ok: true, value: complete };
}

function unsaid(ip: string): string {
  return `Say of which destinations the exporter ${ip} is believed: prefixes: [203.0.113.0/24], or prefixes: all, with which its collector can report an attack on any address.`;
}

export async function loadExporters(tx: Tx, name: string): Promise<readonly CollectorExporter[]> {
  const { rows } = await sql<{ exporters: CollectorExporter[] }>`
    select exporters from collectors where name = ${name}`.execute(tx);
  return rows[0]?.exporters ?? [];
}

/** A listener for flow exports. */
export interface CollectorContent {
  readonly name: string;
  /** `ADDRESS:PORT`, IPv6 in brackets. */
  readonly listen: string;
  readonly exporters: readonly CollectorExporter[];
  /** Null means the site of the first edge. */
  readonly site: string | null;
}

/** Creates a collector of the side that writes, or changes it. */
export async function saveCollector(
  { tx, owner }: Batch,
  { name, listen, exporters, site }: CollectorContent,
): Promise<void> {
  await sql`
    insert into collectors (name, listen, exporters, site, owner)
    values (${name}, ${listen}, ${JSON.stringify(exporters)}::jsonb, ${site}, ${owner})
    on conflict (name) do update set listen = excluded.listen, exporters = excluded.exporters,
      site = excluded.site`.execute(tx);
}
