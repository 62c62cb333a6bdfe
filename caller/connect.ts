import { createClient } from '@portcullis/client/client.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { findAuthority, trust } from './authority.ts';
import { CliError, EXIT, usageError } from './exit.ts';
import type { CallOptions } from './options.ts';
import { DEFAULT_PROFILE, loadProfiles, type Profile } from './profiles.ts';

/** The URL of the control plane without `--url` and a profile. */
export const DEFAULT_URL = 'http://127.0.0.1:8080';

export interface Access extends Profile {
  /** Null: the key is of the environment. */
  readonly profile: string | null;
}

/** The client of the key and the control plane that the options, the environment and the profile name. */
export function connect(options: CallOptions): KeyClient {
  return clientOf(accessOf(options));
}

/** `retries`: of requests that may be repeated; default 3. */
export function clientOf(
  { url, key }: Profile,
  options: { readonly retries?: number } = {},
): KeyClient {
  return createClient({ baseUrl: url, key, ...options });
}

/** A named profile decides, then a key of the environment, then the current profile. */
export function accessOf(options: CallOptions): Access {
  const named = options.profile ?? (process.env['PORTCULLIS_PROFILE'] || undefined);
  const key = process.env['PORTCULLIS_API_KEY'] || undefined;
  const url = givenUrl(options);
  if (key !== undefined && options.profile === undefined) {
    return { url: url ?? DEFAULT_URL, key, profile: null };
  }
  const { current, profiles } = loadProfiles();
  const name = named ?? current ?? DEFAULT_PROFILE;
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile === undefined) throw notSignedIn(named, Object.keys(profiles));
  if (url !== null && url !== new URL(profile.url).origin) {
    throw usageError(
      `the key of the profile ${name} is for ${profile.url}, and is sent to no other`,
    );
  }
  // One that was given was trusted before the command began.
  if (profile.ca !== undefined && givenAuthority(options) === null) trust(profile.ca);
  return { ...profile, profile: name };
}

/** `--ca` or PORTCULLIS_CA; null without. */
export function givenAuthority({ ca }: CallOptions): string | null {
  return ca ?? (process.env['PORTCULLIS_CA'] || null);
}

/** Trusts what `--ca` or PORTCULLIS_CA names, and returns it in PEM; null without. Commands of callers begin with it. */
export async function trustGiven(options: CallOptions): Promise<string | null> {
  const text = givenAuthority(options);
  if (text === null) return null;
  const pem = await findAuthority(text, givenUrl(options) ?? profileUrl(options) ?? DEFAULT_URL);
  trust(pem);
  return pem;
}

function profileUrl(options: CallOptions): string | null {
  const { current, profiles } = loadProfiles();
  const name = options.profile ?? (process.env['PORTCULLIS_PROFILE'] || current || DEFAULT_PROFILE);
  return Object.hasOwn(profiles, name) ? (profiles[name]?.url ?? null) : null;
}

/** The origin of `--url` or PORTCULLIS_URL; null without. */
export function givenUrl({ url }: CallOptions): string | null {
  const text = url ?? process.env['PORTCULLIS_URL'];
  if (text === undefined || text === '') return null;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw usageError(`--url ${text} is not a URL such as ${DEFAULT_URL}`);
  }
  return new URL(text).origin;
}

function notSignedIn(named: string | undefined, known: readonly string[]): CliError {
  if (named !== undefined) {
    const there = known.length === 0 ? 'there is none' : `there are: ${known.join(', ')}`;
    return new CliError(EXIT.notAllowed, `there is no profile ${named}; ${there}`);
  }
  return new CliError(
    EXIT.notAllowed,
    'you are not signed in: run "portcullis login --url https://YOUR-CONTROL-PLANE", or set PORTCULLIS_API_KEY. Keys are made in the portal, or by its operator.',
  );
}
