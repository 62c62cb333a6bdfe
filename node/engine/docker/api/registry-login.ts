import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { EngineError } from '../../engine.ts';

/** The key under which `docker login` keeps the credentials of Docker Hub. */
const DOCKER_HUB = 'https://index.docker.io/v1/';

interface DockerConfig {
  readonly auths?: Readonly<
    Record<string, { readonly auth?: string; readonly identitytoken?: string }>
  >;
}

/** Where `docker login` of this account stores what registries ask for. */
export function loginFile(env: NodeJS.ProcessEnv = process.env): string {
  return join(env['DOCKER_CONFIG'] || join(homedir(), '.docker'), 'config.json');
}

/**
 * The header `X-Registry-Auth` for the registry of an image, from the file that `docker login` writes; null without a
 * login for it. Read for each pull, so that a new login needs no restart. Credential helpers (`credsStore`) are not
 * asked: a node has no session that could unlock them.
 */
export async function registryAuth(reference: string, file: string): Promise<string | null> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return null;
  const server = registryOf(reference);
  const login = parseConfig(text, file).auths?.[server];
  if (login?.auth === undefined) return null;
  const [username = '', ...rest] = Buffer.from(login.auth, 'base64').toString().split(':');
  const header = {
    username,
    password: rest.join(':'),
    ...(login.identitytoken && { identitytoken: login.identitytoken }),
    serveraddress: server,
  };
  // URL-safe with padding: Docker ignores a header without it.
  return Buffer.from(JSON.stringify(header))
    .toString('base64')
    .replaceAll('+', '-')
    .replaceAll('/', '_');
}

function parseConfig(text: string, file: string): DockerConfig {
  try {
    const config: unknown = JSON.parse(text);
    if (typeof config === 'object' && config !== null) return config;
  } catch {
    // Said below without the text, which holds passwords.
  }
  throw new EngineError('refused', `${file} is not JSON: log in again with docker login.`);
}

/** The first part of a reference is a host if it has a dot or a port, or is localhost. */
function registryOf(reference: string): string {
  const [host = ''] = reference.split('/', 1);
  const isHost = reference.includes('/') && /[.:]|^localhost$/.test(host);
  return isHost && !/^(?:index\.)?docker\.io$/.test(host) ? host : DOCKER_HUB;
}
