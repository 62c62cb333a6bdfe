import { Resolver } from 'node:dns/promises';

/** The addresses of a name. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** Asks DNS itself, because getaddrinfo would occupy a thread of the pool for as long as a customer's server hangs. */
export const resolveName: Resolve = async (name) => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason;
  return [v4, v6].flatMap((found) => (found.status === 'fulfilled' ? found.value : []));
};
