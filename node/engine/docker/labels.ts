import { createHash } from 'node:crypto';

/** The agent that a Docker object belongs to; other agents on the same engine leave it alone. */
export const OWNER_LABEL = 'portcullis.node';
export const SERVER_LABEL = 'portcullis.server';
export const ORGANISATION_LABEL = 'portcullis.organisation';
/** Marks a network of the operator, which is kept without a server in it; any value. */
export const KEEP_LABEL = 'portcullis.keep';
/** `game` or `install`. */
export const ROLE_LABEL = 'portcullis.role';

export type Role = 'game' | 'install';

/** The prefix of the bridge interfaces of all agents. */
export const BRIDGE_PREFIX = 'pcn';
/** The kernel's limit of 15 bytes, minus the prefix. */
const BRIDGE_DIGITS = 12;
const SHORT_DIGITS = 8;

/** Names of one agent's Docker objects, derived from its owner name, so that a restarted agent finds them. */
export class Names {
  readonly owner: string;
  readonly #short: string;

  /** `owner` must be unique among the agents on this engine. */
  constructor(owner: string) {
    this.owner = owner;
    this.#short = digest(owner).slice(0, SHORT_DIGITS);
  }

  container(uuid: string, role: Role): string {
    return `portcullis-${this.#short}-${role}-${uuid}`;
  }

  network(organisation: string): string {
    return `portcullis-${this.#short}-${organisation}`;
  }

  bridge(organisation: string): string {
    const digits = digest(`${this.owner}\n${organisation}`).slice(0, BRIDGE_DIGITS);
    return `${BRIDGE_PREFIX}${digits}`;
  }

  /** The nftables table of the family `inet`. */
  get table(): string {
    return `portcullis_node_${this.#short}`;
  }

  labels(organisation: string): Record<string, string> {
    return { [OWNER_LABEL]: this.owner, [ORGANISATION_LABEL]: organisation };
  }

  /** Docker's `filters` for the objects of this agent. */
  filter(more: Readonly<Record<string, string>> = {}): { readonly label: readonly string[] } {
    const labels = { [OWNER_LABEL]: this.owner, ...more };
    return { label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) };
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
