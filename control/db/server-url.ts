/** A server must have this state to be used (`target_session_attrs` of libpq). */
export type SessionAttribute = 'any' | 'read-write' | 'primary';

/**
 * Servers that a URL names, tried in its order. Each is a URL that the driver reads, with its host and port.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
 */
export interface ServerUrl {
  readonly servers: readonly [Server, ...Server[]];
  readonly wanted: SessionAttribute;
}

interface Server {
  /** A name, an address, or the folder of a Unix socket. Empty: the default of the driver. */
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

const DEFAULT_PORT = '5432';
const ATTRIBUTE = 'target_session_attrs';
const WANTED: readonly string[] = ['any', 'read-write', 'primary'] satisfies SessionAttribute[];
const FORM = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/;

/**
 * Parses the URL of a database in any form of libpq: by TCP, by a Unix socket, and with several hosts. Returns null if it is
 * none. Of several hosts control takes one that accepts writes, unless the URL says `any`.
 */
export function parseServerUrl(text: string): ServerUrl | null {
  const [whole, user = '', authority = '', path = '', query = ''] = FORM.exec(text) ?? [];
  if (whole === undefined) return null;
  const rest = new URLSearchParams(query);
  const places = placesOf(authority, query);
  const asked = rest.get(ATTRIBUTE);
  const wanted = asked ?? (places.length > 1 ? 'read-write' : 'any');
  for (const name of ['host', 'port', ATTRIBUTE]) rest.delete(name);
  const account = user === '' ? '' : `${user}@`;
  const [first, ...more] = places.map(({ host, port }): Server => {
    const own = new URLSearchParams([['host', host], ['port', port], ...rest]);
    return {
      host,
      port: Number(port),
      url: `postgresql://${account}localhost${path}?${own.toString()}`,
    };
  });
  if (first === undefined || !isWanted(wanted) || !URL.canParse(first.url)) return null;
  // The driver reads a URL of one host as it stands.
  if (more.length === 0 && asked === null) return { servers: [{ ...first, url: text }], wanted };
  return { servers: [first, ...more], wanted };
}

/** Hosts and ports; those of the query replace those before the path. Empty if they are not valid. */
function placesOf(
  authority: string,
  query: string,
): { readonly host: string; readonly port: string }[] {
  const named = authority.split(',').map((place) => {
    const [whole, bracketed, plain = '', port = ''] =
      /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d*))?$/.exec(place) ?? [];
    return whole === undefined ? null : { host: decoded(bracketed ?? plain), port };
  });
  if (named.includes(null)) return [];
  const hosts = hostsIn(query) ?? named.map((place) => place?.host ?? '');
  const ports =
    new URLSearchParams(query).get('port')?.split(',') ?? named.map((place) => place?.port ?? '');
  if (ports.length !== 1 && ports.length !== hosts.length) return [];
  const places = hosts.map((host, index) => ({
    host,
    port: (ports.length === 1 ? ports[0] : ports[index]) || DEFAULT_PORT,
  }));
  const isValid = places.every(({ port }) => /^\d{1,5}$/.test(port) && Number(port) <= 65_535);
  return isValid ? places : [];
}

/** An encoded comma in the folder of a socket is part of its name; elsewhere it separates hosts, as libpq has it. */
function hostsIn(query: string): string[] | null {
  const [, raw] = /(?:^|&)host=([^&]*)/.exec(query) ?? [];
  if (raw === undefined) return null;
  const hosts = raw.split(',').map((host) => decoded(host.replaceAll('+', ' ')));
  return hosts.flatMap((host) => (host.startsWith('/') ? [host] : host.split(',')));
}

function isWanted(text: string): text is SessionAttribute {
  return WANTED.includes(text);
}

function decoded(host: string): string {
  try {
    return decodeURIComponent(host);
  } catch {
    return host;
  }
}
