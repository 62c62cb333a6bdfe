import { sql } from 'kysely';
import { type Batch, UNSTAMPED } from '../../fleet/batch.ts';
import type { Change } from '../plan/change.ts';

/** Adds or removes a rule of the operator's baseline. */
export async function saveBaseline(
  batch: Batch,
  change: Change<'baseline.add' | 'baseline.remove'>,
): Promise<void> {
  batch.touch(change.prefix);
  if (change.do === 'baseline.remove') return batch.end('baseline_rules', [change.id]);
  const { action, protocol, source, port } = change.rule;
  const { rows } = await sql<{ id: number }>`
    insert into baseline_rules (prefix, action, protocol, source, port, created_generation)
    values (${change.prefix}, ${action}, ${protocol}, ${source}, ${port}, ${UNSTAMPED.created_generation})
    returning id
  `.execute(batch.tx);
  batch.begin(
    'baseline_rules',
    rows.map(({ id }) => id),
  );
}
