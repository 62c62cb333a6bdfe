import { isIP } from 'node:net';
import { join } from 'node:path';
import { usageError } from '@portcullis/caller/exit.ts';
import { addressOf, type HostAndPort, WILDCARDS } from '../../options.ts';
import { controlEnvironment, type ControlOptions } from '../../control-options.ts';

/** Options of `up` for a fleet of several hosts. */
export interface HostsOptions {
  readonly hosts?: string;
  readonly name?: readonly string[];
  readonly natsListen?: string;
}

/** A control plane that hosts join over the network. */
export interface Hosts {
  readonly listen: HostAndPort;
  /** The names and addresses by which other hosts reach this one; the certificates are for them. */
  readonly names: readonly [string, ...string[]];
  /** The URL by which the new hosts reach control. */
  readonly url: string;
  /** The NATS server that is started here; null: the operator named one with --nats. */
  readonly nats: { readonly listen: string; readonly port: number; readonly url: string } | null;
  /** Options of control that follow, for what was not given. */
  control(dataDir: string): ControlOptions;
}

/** Beside 4222, where the service of Debian's package listens once it is installed. */
const NATS_PORT = 4223;
const HOST_NAME = /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/;

/** Returns what `--hosts` and `--name` mean, or null without them. Throws a usage error. */
export function decideHosts(options: HostsOptions & ControlOptions): Hosts | null {
  const { hosts: text, name: names = [], natsListen } = options;
  if (text === undefined) {
    const alone = names.length > 0 ? '--name' : natsListen === undefined ? null : '--nats-listen';
    if (alone !== null) throw usageError(`${alone} needs --hosts, such as --hosts 0.0.0.0:8443`);
    return null;
  }
  const [name, ...more] = names.map(requireName);
  if (name === undefined) {
    throw usageError(
      '--hosts needs --name: a name or address by which the other hosts reach this one, such as control.example.net',
    );
  }
  if (options.listen !== undefined) {
    throw usageError('--hosts says where control listens: leave out --listen');
  }
  const environment = controlEnvironment(options);
  const listen = addressOf('--hosts', text);
  const given = (variable: string): string | undefined =>
    environment[variable]?.trim() || undefined;
  const at = (port: number): string => `${isIP(name) === 6 ? `[${name}]` : name}:${port}`;
  const url = given('PORTCULLIS_PUBLIC_URL') ?? `https://${at(listen.port)}`;
  const nats =
    given('PORTCULLIS_NATS') === undefined ? natsOf(natsListen, listen, at) : refuseOwn(natsListen);
  const hasCertificate = ['PORTCULLIS_TLS_CERT', 'PORTCULLIS_TLS_AUTO'].some((one) => given(one));
  return {
    listen,
    names: [name, ...more],
    url,
    nats,
    control: (dataDir) => ({
      listen: text,
      publicUrl: url,
      ...(nats !== null && { nats: nats.url }),
      ...(!hasCertificate && {
        tlsCert: join(certificateFolder(dataDir), 'server.crt'),
        tlsKey: join(certificateFolder(dataDir), 'server.key'),
      }),
    }),
  };
}

/** The folder of the certificate of the API. */
export function certificateFolder(dataDir: string): string {
  return join(dataDir, 'certificate');
}

function natsOf(
  text: string | undefined,
  listen: HostAndPort,
  at: (port: number) => string,
): Hosts['nats'] {
  const { host, port } = addressOf('--nats-listen', text ?? formatAddress(listen.host, NATS_PORT));
  return { listen: formatAddress(host, port), port, url: `tls://${at(port)}` };
}

function refuseOwn(natsListen: string | undefined): null {
  if (natsListen === undefined) return null;
  throw usageError('--nats-listen is of the server that is started here: leave it out with --nats');
}

function requireName(name: string): string {
  const isUsable = isIP(name) === 0 ? HOST_NAME.test(name) : !WILDCARDS.includes(name);
  if (isUsable) return name;
  throw usageError(
    `--name ${name} is not a name or address by which other hosts reach this one, such as control.example.net`,
  );
}

function formatAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
