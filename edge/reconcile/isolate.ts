import { DriverError } from '@portcullis/dataplane/nftables/driver.ts';

export interface Isolated {
  readonly accepted: readonly string[];
  readonly refused: ReadonlyMap<string, string>;
}

/** The limit of checks. Each renders and submits a whole table; these find several faulty targets among 100,000. */
const MAX_CHECKS = 64;

/**
 * Finds by bisection the targets that the kernel refuses. `check` rejects with `DriverError` if the kernel refuses
 * these targets together with those already accepted. If it also refuses an empty list, no target is at fault, and its
 * error is thrown. At the limit, the targets not yet separated are refused together.
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
