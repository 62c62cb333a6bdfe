import { Gauge, type Registry } from 'prom-client';
import type { Enforcement, EnforcementReader } from './enforcement.ts';
import { REPORT_GAUGES } from './report-gauges.ts';

export interface FleetGauge {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Each value with its labels, of the fleet as it is now. */
  readonly values: (fleet: Enforcement) => Iterable<readonly [Record<string, string>, number]>;
}

const GAUGES: readonly FleetGauge[] = [
  {
    name: 'generation_accepted',
    help: 'The newest accepted generation.',
    labels: [],
    values: ({ generation }) => [[{}, generation]],
  },
  {
    name: 'edges_in_service',
    help: 'Edges that count for live.',
    labels: [],
    values: ({ edges }) => [[{}, edges.filter((edge) => edge.inService).length]],
  },
  {
    name: 'edges_enforcing',
    help: 'Edges that enforce, in service or not.',
    labels: [],
    values: ({ edges }) => [[{}, edges.filter((edge) => edge.enforcing).length]],
  },
  {
    name: 'edge_lag_generations',
    help: 'Accepted minus confirmed.',
    labels: ['edge'],
    values: ({ edges, generation }) =>
      edges
        .filter((edge) => edge.enforcing)
        .map((edge) => [{ edge: edge.name }, generation - edge.confirmedGeneration]),
  },
  {
    name: 'edge_refused_targets',
    help: 'Targets that stay at an older state.',
    labels: ['edge'],
    values: ({ edges }) => edges.map((edge) => [{ edge: edge.name }, edge.refusedTargets]),
  },
  ...REPORT_GAUGES,
];

/** The fleet as it is when somebody looks: read at each scrape, and absent while the database is away. */
export function registerFleetGauges(registry: Registry, enforcement: EnforcementReader): void {
  for (const { name, help, labels, values } of GAUGES) {
    const made: Gauge = new Gauge({
      name: `portcullis_${name}`,
      help,
      labelNames: [...labels],
      registers: [registry],
      async collect() {
        made.reset();
        const fleet = await enforcement.read().catch(() => null);
        if (fleet === null) made.remove();
        else for (const [labelled, value] of values(fleet)) made.set(labelled, value);
      },
    });
  }
}
