import { relaySuite } from './relay-suite.ts';
import { createMemoryRelays } from './relay.ts';

relaySuite('memory', async () => {
  const [first, second] = createMemoryRelays(2);
  if (first === undefined || second === undefined) throw new Error('two relays were asked for');
  return [first, second];
});
