import { Counter, Gauge, type Registry } from 'prom-client';

export interface ScrapedMetric {
  /** The name without `portcullis_`. With `_total` at its end it is a counter, which others count; else a gauge. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Each current value with its labels. Null: nothing is known, so the metric is absent. */
  readonly read: () => Promise<Iterable<readonly [Record<string, string>, number]> | null>;
}

/** Registers a metric that is read at each scrape. */
export function registerScraped(registry: Registry, metric: ScrapedMetric): void {
  const { name, help, labels, read } = metric;
  const options = { name: `portcullis_${name}`, help, labelNames: [...labels] };
  const Metric = name.endsWith('_total') ? Counter : Gauge;
  const made: Counter | Gauge = new Metric({
    ...options,
    registers: [registry],
    async collect() {
      made.reset();
      const values = await read().catch(() => null);
      if (values === null) made.remove();
      else for (const [labelled, value] of values) made.inc(labelled, value);
    },
  });
}
