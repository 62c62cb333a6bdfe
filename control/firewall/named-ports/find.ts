/** A server with the names of its ports. */
export interface NamedServer<Port extends { readonly name: string }> {
  readonly uuid: string;
  readonly name: string;
  readonly ports: readonly Port[];
}

/** Only a name has a colon: `Survival:query`. A port expression has none. */
export function isPortName(text: string): boolean {
  return text.includes(':');
}

/** The part that names the server, which may have colons; the name of a port has none. */
export function serverOf(text: string): string {
  return text.slice(0, text.lastIndexOf(':'));
}

export type FoundPort<Port> =
  | { readonly ok: true; readonly server: string; readonly port: Port }
  | { readonly ok: false; readonly reason: string };

/** Finds the port that `SERVER:PORT` names: the server by its uuid or its name. */
export function findPort<Port extends { readonly name: string }>(
  text: string,
  servers: readonly NamedServer<Port>[],
): FoundPort<Port> {
  const wanted = serverOf(text);
  const byUuid = servers.filter(({ uuid }) => uuid === wanted.toLowerCase());
  const matches = byUuid.length > 0 ? byUuid : servers.filter(({ name }) => name === wanted);
  const [server, another] = matches;
  if (server === undefined) return failed(`there is no game server "${wanted}"`);
  if (another !== undefined) {
    const uuids = matches.map(({ uuid }) => uuid).join(', ');
    return failed(`several game servers are called "${wanted}": write its uuid (${uuids})`);
  }
  const portName = text.slice(wanted.length + 1);
  const port = server.ports.find(({ name }) => name === portName);
  if (port !== undefined) return { ok: true, server: server.uuid, port };
  const known = server.ports.map(({ name }) => name).join(', ');
  return failed(`${server.name} has no port "${portName}"; it has ${known}`);
}

function failed(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
