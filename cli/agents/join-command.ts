import { isLoopbackHost } from '@portcullis/core/net/public-address.ts';
import { parseJoinUrl } from '@portcullis/link/join-url.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { Actor } from '@portcullis/control/access/index.ts';
import type { Tx } from '@portcullis/control/db/database.ts';
import { usageError } from '@portcullis/caller/exit.ts';

export interface JoinCommand {
  readonly token: string;
  /** For the new host, as root. */
  readonly command: string;
  readonly expiresAt: Date;
}

/** The URL of control in a command for another host. Throws a usage error if `join` would refuse it there. */
export function requireJoinUrl(text: string, option: string): string {
  if (parseJoinUrl(text) !== null) return text.trim();
  throw usageError(
    `hosts join over https only, and control is at ${text}: start it with "portcullis up --hosts", or with --tls-cert or behind a proxy, and say by ${option} where the new host reaches it`,
  );
}

/** A remark on a command that only this host can run; null for all others. */
export function remarkOn(url: string): string | null {
  return isLoopbackHost(new URL(url).hostname)
    ? `${url} is this host alone. For another one, start control with "portcullis up --hosts", or give --url.`
    : null;
}

/** Makes a token, and the command that joins a host by it. Null if the fleet has no such agent. */
export async function createJoinCommand(
  tx: Tx,
  wanted: {
    readonly agent: AgentRef;
    readonly url: string;
    readonly lastsMs: number;
    readonly needsApproval: boolean;
  },
  actor: Actor,
): Promise<JoinCommand | null> {
  const { agent, url, lastsMs, needsApproval } = wanted;
  const { createToken } = await import('@portcullis/control/operator/joining/tokens.ts');
  const expiresAt = new Date(Date.now() + lastsMs);
  const token = await createToken(tx, { agent, expiresAt, needsApproval }, actor);
  if (token === null) return null;
  return { token, command: `portcullis ${agent.kind} join ${url} ${token}`, expiresAt };
}
