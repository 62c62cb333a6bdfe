import { Gauge, type Registry } from 'prom-client';
import type { Enforcement, EnforcementReader } from './enforcement.ts';

/** The fleet as it is when somebody looks: read at each scrape, and absent while the database is away. */
export function registerFleetGauges(registry: Registry, enforcement: EnforcementReader): void {
  const gauge = (
    name: string,
    help: string,
    labelNames: readonly string[],
    set: (gauge: Gauge, fleet: Enforcement) => void,
  ): void => {
    const made: Gauge = new Gauge({
      name: `portcullis_${name}`,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      async collect() {
        made.reset();
        const fleet = await enforcement.read().catch(() => null);
        if (fleet === null) made.remove();
        else set(made, fleet);
      },
    });
  };
  gauge('generation_accepted', 'The newest accepted generation.', [], (g, fleet) =>
    g.set(fleet.generation),
  );
  gauge('edges_in_service', 'Edges that count for live.', [], (g, { edges }) =>
    g.set(edges.filter((edge) => edge.inService).length),
  );
  gauge('edges_enforcing', 'Edges that enforce, in service or not.', [], (g, { edges }) =>
    g.set(edges.filter((edge) => edge.enforcing).length),
  );
  gauge(
    'edge_lag_generations',
    'Accepted minus confirmed.',
    ['edge'],
    (g, { edges, generation }) => {
      for (const edge of edges) {
        if (edge.enforcing) g.set({ edge: edge.name }, generation - edge.confirmedGeneration);
      }
    },
  );
  gauge(
    'edge_refused_targets',
    'Targets that stay at an older state.',
    ['edge'],
    (g, { edges }) => {
      for (const edge of edges) g.set({ edge: edge.name }, edge.refusedTargets);
    },
  );
}
