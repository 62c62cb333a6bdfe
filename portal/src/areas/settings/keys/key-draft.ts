import type { ApiKey, ApiKeyInput } from '@portcullis/client/index.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';

export const ABILITIES = [
  'firewall.read',
  'firewall.manage',
  'attacks.read',
  'game-servers.read',
  'game-servers.manage',
  'game-servers.files',
  'game-servers.settings',
  'game-servers.create',
] as const satisfies ApiKeyInput['abilities'];
export type Ability = (typeof ABILITIES)[number];

export const LIFETIMES = ['30', '90', '365', 'never'] as const;
export type Lifetime = (typeof LIFETIMES)[number];

/** The form as it is typed. Empty lists and texts mean: not limited. */
export interface KeyDraft {
  readonly name: string;
  readonly abilities: readonly Ability[];
  readonly servers: readonly string[];
  readonly managedServers: readonly string[];
  readonly prefixes: string;
  readonly sources: string;
  readonly lifetime: Lifetime;
}

export const EMPTY_DRAFT: KeyDraft = {
  name: '',
  abilities: [],
  servers: [],
  managedServers: [],
  prefixes: '',
  sources: '',
  lifetime: '365',
};

const DAY_MS = 86_400_000;

/** Networks with commas, spaces or lines between them; the first that is none is the mistake. */
export function parseNetworks(typed: string): {
  readonly networks: readonly string[] | null;
  readonly mistake: string | null;
} {
  const networks = typed.split(/[\s,]+/).filter((each) => each !== '');
  for (const each of networks) {
    const parsed = parseCidr(each);
    if (!parsed.ok) return { networks, mistake: `${each}: ${parsed.reason}` };
  }
  return { networks: networks.length === 0 ? null : networks, mistake: null };
}

/** The body that is sent for a draft. */
export function bodyOf(draft: KeyDraft, now: Date): ApiKeyInput {
  const { name, abilities, servers, managedServers, prefixes, sources, lifetime } = draft;
  const end = lifetime === 'never' ? null : new Date(now.getTime() + Number(lifetime) * DAY_MS);
  return {
    name: name.trim(),
    abilities,
    servers: servers.length === 0 ? null : servers,
    managed_servers: managedServers.length === 0 ? null : managedServers,
    prefixes: parseNetworks(prefixes).networks,
    sources: parseNetworks(sources).networks,
    expires_at: end === null ? null : `${end.toISOString().slice(0, 19)}+00:00`,
  };
}

export type KeyState = 'active' | 'expired' | 'suspended' | 'revoked';

export function stateOf(key: ApiKey, now: Date): KeyState {
  if (key.revoked_at !== null) return 'revoked';
  if (key.suspended_at !== null) return 'suspended';
  if (key.expires_at !== null && new Date(key.expires_at) <= now) return 'expired';
  return 'active';
}

/** Sorts keys: those that work first, then by name. */
export function sortKeys(keys: readonly ApiKey[], now: Date): ApiKey[] {
  const rank = (key: ApiKey) => (stateOf(key, now) === 'active' ? 0 : 1);
  return keys.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name) || a.id - b.id);
}
