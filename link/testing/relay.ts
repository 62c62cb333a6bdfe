import type { SampleRelay, TakeSamples } from '../transport/relay.ts';

/** The ends of replicas in one process, for tests. */
export function createMemoryRelays(count: number): SampleRelay[] {
  const takers: (TakeSamples | null)[] = Array.from({ length: count }, () => null);
  return takers.map((_, own) => ({
    async pass(from, site, message) {
      const take = takers.find((one) => one !== null);
      take?.(from, site, message);
      return take !== undefined;
    },
    serve(take) {
      takers[own] = take;
    },
  }));
}
