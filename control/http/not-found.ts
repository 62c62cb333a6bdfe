import type { FastifyInstance } from 'fastify';
import { Problem } from '../problem.ts';

/** Remembers every route as it is added, to tell an unknown path from a method that a path does not take. */
export interface KnownPaths {
  /** The methods of this path (without query), sorted, OPTIONS included; null for an unknown path. */
  methodsOf(path: string): readonly string[] | null;
}

export function rememberPaths(app: FastifyInstance): KnownPaths {
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

/** `/a/:b/*` as a pattern; route text is ours, so only its own marks are special. */
function patternOf(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/:[A-Za-z]+/g, '[^/]+').replaceAll('*', '.*')}$`);
}

/** Why a request met no route: 405 with what the path takes, or 404. */
export function whyNoRoute(paths: KnownPaths, method: string, path: string): Problem {
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

/** The same for an address that nobody holds, that another holds, and that is none: nothing is learnt from it. */
export function notHeld(): Problem {
  return new Problem(
    'not_found',
    'No such address among those this key may manage. It must lie in a prefix that the organisation announces, or be assigned to one of its services.',
  );
}

/** The same for an attack that there is not, that was on another, and for what is no number. */
export function noAttack(): Problem {
  return new Problem(
    'not_found',
    'No such attack among those this key may see. An attack is named by its id, as the list of attacks has it.',
  );
}

/** The same for a server that is not there, that another has, that the key may not see, and for what is no uuid. */
export function notSeen(): Problem {
  return new Problem(
    'not_found',
    'No such server among those this key may see. A server is named by its uuid, as the list of servers has it.',
  );
}
