const DEFAULT_SOCKET = '/var/run/docker.sock';

/** Path of the socket that `DOCKER_HOST` names, or Docker's usual one. Throws on anything but a unix socket. */
export function parseDockerHost(host: string | undefined): string {
  if (host === undefined || host === '') return DEFAULT_SOCKET;
  const [, path] = /^unix:\/\/(\/.+)$/.exec(host) ?? [];
  if (path === undefined)
    throw new RangeError(`Docker is spoken to by a unix socket only, not ${JSON.stringify(host)}`);
  return path;
}
