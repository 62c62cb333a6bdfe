import { createHash } from 'node:crypto';

/** Which agent an object of Docker belongs to; another agent on the same engine lets it alone. */
export const OWNER_LABEL = 'portcullis.node';
export const SERVER_LABEL = 'portcullis.server';
export const ORGANISATION_LABEL = 'portcullis.organisation';
/** On a network that an operator made and that stays without a server in it, whatever its value. */
export const KEEP_LABEL = 'portcullis.keep';
/** `game` or `install`. */
export const ROLE_LABEL = 'portcullis.role';

export type Role = 'game' | 'install';

/** Every interface of a bridge of ours begins so, whichever agent made it. */
export const BRIDGE_PREFIX = 'pcn';
/** A kernel's limit of 15 bytes, less the prefix. */
const BRIDGE_DIGITS = 12;
const SHORT_DIGITS = 8;

/** How the objects of one agent are called: by what it is, so that they are found again without a memory. */
export class Names {
  readonly owner: string;
  readonly #short: string;

  /** `owner` is the node's own name, which no other agent on this engine has. */
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

  /** What finds everything of ours of a kind, as Docker's `filters` want it. */
  filter(more: Readonly<Record<string, string>> = {}): { readonly label: readonly string[] } {
    const wanted = { [OWNER_LABEL]: this.owner, ...more };
    return { label: Object.entries(wanted).map(([name, value]) => `${name}=${value}`) };
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
