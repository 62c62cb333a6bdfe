import type { PortRange } from '../net/ports.ts';

/** A node as an operator sees it who looks for a place. MiB. */
export interface PlaceNode {
  readonly name: string;
  readonly connected: boolean;
  /** Why its engine cannot build; null: it can. */
  readonly problem: string | null;
  /** Null: without limit. */
  readonly memory: number | null;
  readonly disk: number | null;
  readonly memoryUsed: number;
  readonly diskUsed: number;
  /** Canonical. */
  readonly addresses: readonly string[];
  /** Ports that it gives. */
  readonly ports: readonly PortRange[];
}

export interface PlaceWish {
  /** Null: any. */
  readonly node: string | null;
  readonly memory: number;
  readonly disk: number;
  /** Addresses that it must have; null: it gives an address and a port. */
  readonly addresses: readonly string[] | null;
}

export interface Place {
  readonly node: string;
  /** Null where the wish has addresses. */
  readonly given: { readonly ip: string; readonly port: number } | null;
}

/** The kind of what a node lacks: for callers who may not read how much it has. */
export type LackKind = 'connection' | 'engine' | 'address' | 'memory' | 'disk' | 'port';

interface Lack {
  readonly kind: LackKind;
  /** A part of a sentence. */
  readonly what: string;
}

export type Placement =
  | { readonly ok: true; readonly place: Place }
  /** For each node that was considered, what it lacks. */
  | { readonly ok: false; readonly lacks: readonly (Lack & { readonly node: string })[] };

/**
 * Chooses the node with the smallest part of its memory in use, by name among equals. One that is named need not be
 * connected yet, nor list its addresses. `taken`: ports in use, as `ADDRESS PORT`.
 */
export function choosePlace(
  wish: PlaceWish,
  nodes: readonly PlaceNode[],
  taken: ReadonlySet<string>,
): Placement {
  const considered = nodes.filter(({ name }) => wish.node === null || name === wish.node);
  const lacks: (Lack & { readonly node: string })[] = [];
  const places: { readonly place: Place; readonly used: number }[] = [];
  for (const node of considered) {
    const given = wish.addresses === null ? freePort(node, taken) : null;
    const lack =
      lackOf(node, wish) ?? (wish.addresses === null && given === null ? noPort(node) : null);
    if (lack !== null) lacks.push({ node: node.name, ...lack });
    else places.push({ place: { node: node.name, given }, used: usedPart(node) });
  }
  const [best] = places.toSorted(
    (a, b) => a.used - b.used || (a.place.node < b.place.node ? -1 : 1),
  );
  return best === undefined ? { ok: false, lacks } : { ok: true, place: best.place };
}

function lackOf(node: PlaceNode, wish: PlaceWish): Lack | null {
  if (wish.node === null) {
    if (!node.connected) return { kind: 'connection', what: 'is not connected' };
    if (node.problem !== null) return { kind: 'engine', what: `cannot build: ${node.problem}` };
    const missing = wish.addresses?.find((ip) => !node.addresses.includes(ip));
    if (missing !== undefined) {
      return { kind: 'address', what: `does not list the address ${missing}` };
    }
  }
  for (const [kind, offered, used, needed] of [
    ['memory', node.memory, node.memoryUsed, wish.memory],
    ['disk', node.disk, node.diskUsed, wish.disk],
  ] as const) {
    // A change that needs no more fits also where more is given than offered.
    if (offered !== null && needed > 0 && used + needed > offered) {
      const left = `${Math.max(0, offered - used)} of ${offered} MiB of ${kind}`;
      return { kind, what: `has ${left} left, and ${needed} are needed` };
    }
  }
  return null;
}

function noPort({ addresses }: PlaceNode): Lack {
  return addresses.length === 0
    ? { kind: 'address', what: 'lists no address from which a port could be given' }
    : { kind: 'port', what: 'has no free port at its addresses' };
}

/** The first port that no server has, of the first address that has one; null: there is none. */
export function freePort(
  { addresses, ports }: Pick<PlaceNode, 'addresses' | 'ports'>,
  taken: ReadonlySet<string>,
): Place['given'] {
  for (const ip of addresses) {
    for (const { low, high } of ports) {
      for (let port = low; port <= high; port += 1) {
        if (!taken.has(`${ip} ${port}`)) return { ip, port };
      }
    }
  }
  return null;
}

/** The used part; an offer without limit has none. */
function usedPart({ memory, memoryUsed }: PlaceNode): number {
  return memory === null ? 0 : memoryUsed / memory;
}
