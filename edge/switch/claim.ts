import { randomUUID } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectControl } from '@portcullis/link/transport/connect.ts';
import { ControlClient } from '../agent/control-client.ts';
import type { EdgeConfig } from '../config.ts';

/** How the edge of this host is known to control. */
type Claim = Pick<EdgeConfig, 'name' | 'linkPath' | 'credential'>;

const CLAIM_FILE = 'claim.json';
const TIMEOUT_MS = 3_000;

/** Saves how the agent joins control, so that `edge off` can report for an agent that no longer can. */
export function saveClaim(stateDir: string, { name, linkPath, credential }: Claim): void {
  const path = join(stateDir, CLAIM_FILE);
  writeFileSync(path, `${JSON.stringify({ name, linkPath, credential })}\n`, { mode: 0o600 });
  chmodSync(path, 0o600);
}

/**
 * Reports to control that the edge of this state directory does not enforce, in place of its agent, which may be killed
 * or stuck: otherwise control counts it until its lease ends. An agent that runs joins again, and reports the same.
 * Returns whether control knows; it may be away.
 */
export async function endClaim(stateDir: string, reason: string): Promise<boolean> {
  const claim = readClaim(stateDir);
  if (claim === null) return false;
  const { name, linkPath, credential } = claim;
  const link = await connectControl({ path: linkPath, agent: { kind: 'edge', name }, credential });
  const tooLate = AbortSignal.timeout(TIMEOUT_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      link.onConnect(resolve);
      link.onRefused((why) => reject(new Error(why)));
      tooLate.addEventListener('abort', () => reject(new Error('control does not answer')));
    });
    await new ControlClient(link, `off-${randomUUID()}`).hello('observe', reason);
    return true;
  } catch {
    return false;
  } finally {
    await link.close();
  }
}

function readClaim(stateDir: string): Claim | null {
  try {
    return JSON.parse(readFileSync(join(stateDir, CLAIM_FILE), 'utf8')) as Claim;
  } catch {
    return null;
  }
}
