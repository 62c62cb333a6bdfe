import type { FastifyInstance } from 'fastify';
import { Problem } from '../../problem.ts';

/** Collects the routes, to distinguish an unknown path from an unsupported method. */
export interface KnownPaths {
  /** The sorted methods of a path (without query), OPTIONS included. Null for an unknown path. */
  methodsOf(path: string): readonly string[] | null;
  /**
   * Whether another route has the path by its own name: `/servers/quota` is not the server `quota` of `/servers/:server`,
   * with no method.
   * @param url That of the route which the router found, which looks at the routes of one method only.
   */
  isOfAnother(url: string, path: string): boolean;
}

interface KnownPath {
  readonly url: string;
  readonly pattern: RegExp;
  /** Orders routes as the router does: at the first part that differs, a name goes before a parameter. */
  readonly rank: string;
  readonly methods: Set<string>;
}

export function collectPaths(app: FastifyInstance): KnownPaths {
  const known = new Map<string, KnownPath>();
  const overlaps = new Map<string, readonly KnownPath[]>();
  app.addHook('onRoute', ({ url, method }) => {
    const entry = known.get(url) ?? {
      url,
      pattern: patternOf(url),
      rank: rankOf(url),
      methods: new Set(['OPTIONS']),
    };
    for (const one of Array.isArray(method) ? method : [method]) entry.methods.add(one);
    known.set(url, entry);
    overlaps.clear();
  });
  /** The routes that would be taken before this one: none of nearly all, so that a request costs a look. */
  const before = (url: string): readonly KnownPath[] => {
    const found =
      overlaps.get(url) ??
      [...known.values()].filter((one) => one.rank < rankOf(url) && patternOf(url).test(one.url));
    overlaps.set(url, found);
    return found;
  };
  return {
    methodsOf(path) {
      const matching = [...known.values()].filter((entry) => entry.pattern.test(path));
      const first = matching.map((entry) => entry.rank).toSorted()[0];
      if (first === undefined) return null;
      const own = matching.filter((entry) => entry.rank === first);
      return [...new Set(own.flatMap((entry) => [...entry.methods]))].toSorted();
    },
    isOfAnother: (url, path) => before(url).some((entry) => entry.pattern.test(path)),
  };
}

/** Converts `/a/:b/*` to a pattern. */
function patternOf(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`);
}

function rankOf(url: string): string {
  return url.replace(/[^/]+/g, (part) =>
    part.includes('*') ? '2' : part.startsWith(':') ? '1' : '0',
  );
}

/** 405 with the allowed methods, or 404. */
export function routeProblem(paths: KnownPaths, method: string, path: string): Problem {
  const allow = paths.methodsOf(path)?.join(', ');
  if (allow === undefined) return notFoundPath();
  return new Problem(
    'method_not_allowed',
    `${method} is not possible here; this path takes ${allow}.`,
    {
      headers: { allow },
    },
  );
}

export function notFoundPath(): Problem {
  return new Problem('not_found', 'There is nothing at this path. The paths are listed at /docs.');
}

/** Equal for an unheld, a foreign and an invalid address, so that it reveals nothing. */
export function notHeld(): Problem {
  return new Problem(
    'not_found',
    'No such address among those this key may manage. It must lie in a prefix that the organisation announces, or be assigned to one of its services.',
  );
}

/** Equal for an unknown, a foreign and an invalid attack. */
export function noAttack(): Problem {
  return new Problem(
    'not_found',
    'No such attack among those this key may see. An attack is named by its id, as the list of attacks has it.',
  );
}

/** Equal for an unknown, a foreign, an invisible and an invalid server. */
export function notSeen(): Problem {
  return new Problem(
    'not_found',
    'No such server among those this key may see. A server is named by its uuid, as the list of servers has it.',
  );
}

/** Equal for an unknown, a foreign and an invalid id of people and what they have. */
export function notThere(): Problem {
  return new Problem('not_found', 'There is nothing with this id that you may see.');
}
