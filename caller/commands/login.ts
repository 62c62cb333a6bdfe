import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { PermissionError } from '@portcullis/client/errors.ts';
import type { CallerView } from '@portcullis/client/generated/operations.ts';
import { findAuthority } from '../authority.ts';
import { accessOf, clientOf, connect, DEFAULT_URL, givenAuthority, givenUrl } from '../connect.ts';
import { usageError } from '../exit.ts';
import { type CallOptions, withCallOptions } from '../options.ts';
import { print, printJson, warn } from '../output.ts';
import {
  DEFAULT_PROFILE,
  isProfileName,
  loadProfiles,
  profilesFile,
  saveProfiles,
} from '../profiles.ts';

/** `login`, `logout` and `whoami`. */
export function addLogin(program: Command): void {
  withCallOptions(
    program
      .command('login')
      .description('keep an API key for later commands, in a file that only you can read'),
  )
    .addHelpText(
      'after',
      `
  portcullis login --url https://portcullis.example.net              asks for the key
  portcullis login --url https://portcullis.example.net <key.txt     reads it from standard input
  portcullis login --url https://10.0.0.1:8443 --ca FINGERPRINT      of an installation with an authority of its own
  portcullis login --profile staging --url https://staging.example.net

A key is never an argument, because others can see those. PORTCULLIS_API_KEY is used before the profile.`,
    )
    .action(login);
  withCallOptions(
    program.command('logout').description('forget the key of a profile; it stays valid elsewhere'),
  ).action(logout);
  withCallOptions(
    program.command('whoami').description('the organisation and the rights of the key'),
  ).action(whoami);
}

async function login(options: CallOptions): Promise<void> {
  const name = options.profile ?? DEFAULT_PROFILE;
  if (!isProfileName(name)) {
    throw usageError(`--profile ${name} is not a name of letters, digits, ".", "_" and "-"`);
  }
  const url = givenUrl(options) ?? DEFAULT_URL;
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !/^(?:127\.|localhost$|\[::1\]$)/.test(hostname)) {
    warn(`${url} is not encrypted: others on the way can read the key.`);
  }
  const key = await readKey(url);
  const data = await identify(url, key);
  const { profiles } = loadProfiles();
  const text = givenAuthority(options);
  const ca = text === null ? {} : { ca: await findAuthority(text, url) };
  saveProfiles({ current: name, profiles: { ...profiles, [name]: { url, key, ...ca } } });
  if (options.json === true) printJson({ profile: name, url, ...data });
  else if (options.quiet !== true) {
    print(`Signed in to ${url} as ${data.key} of ${data.organisation}; kept in ${profilesFile()}.`);
  }
}

/** A key of the operator belongs to no organisation, and may not ask for one. */
async function identify(url: string, key: string) {
  try {
    return (await clientOf({ url, key }).readCaller()).data;
  } catch (error) {
    const isOperators = error instanceof PermissionError && error.code === 'ability_missing';
    if (isOperators) return { key: 'a key', organisation: 'the operator' };
    throw error;
  }
}

/** From standard input, which on a terminal does not show it. */
async function readKey(url: string): Promise<string> {
  const key = process.stdin.isTTY ? await askKey(url) : (await text(process.stdin)).trim();
  if (!/^[\x21-\x7e]{1,200}$/.test(key)) {
    throw usageError('standard input has no API key: one word, such as pcl_...');
  }
  return key;
}

async function askKey(url: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  const ending = new AbortController();
  lines.on('SIGINT', () => ending.abort());
  // Only now: the terminal shows what is typed until readline has taken it over.
  process.stderr.write(`API key for ${url} (it is not shown): `);
  try {
    return (await lines.question('', { signal: ending.signal })).trim();
  } catch {
    throw usageError('interrupted: nothing was kept');
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}

async function logout(options: CallOptions): Promise<void> {
  const { current, profiles } = loadProfiles();
  const name = options.profile ?? current ?? DEFAULT_PROFILE;
  if (!Object.hasOwn(profiles, name)) throw usageError(`there is no profile ${name}`);
  const { [name]: _, ...kept } = profiles;
  const next = current === name ? (Object.keys(kept)[0] ?? null) : current;
  saveProfiles({ current: next, profiles: kept });
  if (options.json === true) printJson({ profile: name, current: next });
  else if (options.quiet !== true) {
    print(
      `The key of the profile ${name} is forgotten here. Revoke it in the portal if it is not needed.`,
    );
  }
}

async function whoami(options: CallOptions): Promise<void> {
  const { url, profile } = accessOf(options);
  const { data } = await connect(options).readCaller();
  if (options.json === true) return printJson({ url, profile, ...data });
  for (const line of describe(data)) print(line);
  print(
    `control       ${url}${profile === null ? ', key of PORTCULLIS_API_KEY' : `, profile ${profile}`}`,
  );
}

function describe(data: CallerView['data']): string[] {
  const { abilities, flags, prefixes, servers } = data;
  return [
    `organisation  ${data.organisation_name} (${data.organisation})`,
    `key           ${data.key}`,
    `may           ${abilities.join(', ') || 'nothing'}`,
    ...(flags.length === 0 ? ['areas         none is enabled for the API'] : []),
    `on            ${prefixes === null ? 'every address of the organisation' : prefixes.join(', ')}`,
    ...(servers === null ? [] : [`servers       ${servers.join(', ') || 'none'}`]),
    `limit         ${data.requests_per_minute} requests a minute`,
    `calls from    ${data.source_ip ?? 'an unknown address'}`,
  ];
}
