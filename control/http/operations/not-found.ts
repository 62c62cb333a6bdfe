import type { FastifyInstance } from 'fastify';
import { Problem } from '../../problem.ts';

/** Collects the routes, to distinguish an unknown path from an unsupported method. */
export interface KnownPaths {
  /** The sorted methods of a path (without query), OPTIONS included. Null for an unknown path. */
  methodsOf(path: string): readonly string[] | null;
}

export function collectPaths(app: FastifyInstance): KnownPaths {
  const known = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const entry = known.get(url) ?? { pattern: patternOf(url), methods: new Set(['OPTIONS']) };
    for (const one of Array.isArray(method) ? method : [method]) entry.methods.add(one);
    known.set(url, entry);
  });
  return {
    methodsOf(path) {
      const methods = new Set<string>();
      for (const entry of known.values()) {
        if (entry.pattern.test(path)) for (const method of entry.methods) methods.add(method);
      }
      return methods.size === 0 ? null : [...methods].toSorted();
    },
  };
}

/** Converts `/a/:b/*` to a pattern. */
function patternOf(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`);
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
