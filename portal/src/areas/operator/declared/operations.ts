import { pathNames } from '@portcullis/contract/schemas/declared/declared-kind.ts';
import { ProblemError, type ResponseInfo } from '@portcullis/client/index.ts';
import { personClient } from '../../../session/session.ts';
import type { DeclaredObject, KindRow } from './kinds.ts';

/** Fields of a path: those of an object's kind, or of the list that it is in. */
export type Place = Readonly<Record<string, unknown>>;

interface One {
  readonly data: DeclaredObject;
  readonly response: ResponseInfo;
}

interface How {
  readonly signal?: AbortSignal;
  readonly ifMatch?: string;
  readonly ifNoneMatch?: '*';
}

type Operation<Answer> = (input: object, how?: How) => Promise<Answer>;

export interface Write {
  readonly at: Place;
  readonly body: Readonly<Record<string, unknown>>;
  readonly allowsLosses: boolean;
}

/** The operations of a kind, whose names are made of its title. */
export function operationsOf({ kind }: KindRow) {
  const { title, plural, path, isNumbered = false } = kind;
  const operation = <Answer>(name: string): Operation<Answer> =>
    Reflect.get(personClient, name) as Operation<Answer>;
  const inputOf = ({ at, body, allowsLosses }: Write): object => ({
    ...at,
    body,
    query: { allow_losses: allowsLosses },
  });
  return {
    list: (at: Place, signal: AbortSignal) =>
      operation<{ readonly data: readonly DeclaredObject[] }>(`list${plural}`)(
        { ...at },
        { signal },
      ),
    read: (at: Place, how: How) => operation<One>(`read${title}`)(at, how),
    /** Only creates: another tab or program may have made one of this name meanwhile. */
    create: (write: Write) =>
      isNumbered
        ? operation<One>(`create${title}`)(inputOf(write))
        : operation<One>(`save${title}`)(inputOf(write), { ifNoneMatch: '*' }).catch(
            (error: unknown) => {
              throw atField(error, pathNames(path).at(-1) ?? '');
            },
          ),
    change: (write: Write, etag: string | null) =>
      operation<One>(`change${title}`)(inputOf(write), etag === null ? {} : { ifMatch: etag }),
    remove: (at: Place, allowsLosses: boolean) =>
      operation<unknown>(`remove${title}`)({ ...at, query: { allow_losses: allowsLosses } }),
  };
}

/** A name in the path that is none of the kind is answered as a path that is not there: here it was typed into a field. */
function atField(error: unknown, field: string): unknown {
  if (!(error instanceof ProblemError) || error.code !== 'not_found') return error;
  const detail = error.message.replace(/^There is no such path: \w+ /, '');
  const errors = [{ pointer: `/${field}`, detail }];
  return new ProblemError(error, { detail: error.message, errors }, error.retryAfterSeconds);
}

/** The fields by which a path names an object. */
export function placeOfObject({ kind }: KindRow, object: Place): Place {
  return Object.fromEntries(pathNames(kind.path).map((name) => [name, object[name]]));
}
