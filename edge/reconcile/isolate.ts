import { DriverError } from '@portcullis/dataplane/nftables/driver.ts';

export interface Isolated {
  readonly accepted: readonly string[];
  readonly refused: ReadonlyMap<string, string>;
}

/** Each check renders and submits a whole table: enough to find some faulty ones among 100,000. */
const MAX_CHECKS = 64;

/**
 * Finds which targets make the kernel refuse, by halving. `check` rejects with `DriverError` when the kernel
 * refuses these targets beside what is good already. When none at all is refused too, nothing here is at
 * fault, and its error is thrown. Past the bound, what has not been told apart is refused together.
 */
export async function isolate(
  targets: readonly string[],
  check: (names: readonly string[]) => Promise<void>,
): Promise<Isolated> {
  await check([]);
  const accepted: string[] = [];
  const refused = new Map<string, string>();
  let checks = 1;
  const waiting: (readonly string[])[] = targets.length === 0 ? [] : [targets];
  for (let some = waiting.pop(); some !== undefined; some = waiting.pop()) {
    if (checks >= MAX_CHECKS) {
      for (const name of some)
        refused.set(name, 'the kernel refuses this one or others changed with it');
      continue;
    }
    checks++;
    const reason = await refusalOf(() => check([...accepted, ...some]));
    if (reason === null) accepted.push(...some);
    else if (some.length === 1) refused.set(some[0] as string, reason);
    else {
      const middle = some.length >> 1;
      waiting.push(some.slice(middle), some.slice(0, middle));
    }
  }
  return { accepted, refused };
}

async function refusalOf(attempt: () => Promise<void>): Promise<string | null> {
  try {
    await attempt();
    return null;
  } catch (error) {
    if (error instanceof DriverError && error.code === 'refused') return error.message;
    throw error;
  }
}
