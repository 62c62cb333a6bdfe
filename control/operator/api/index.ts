import type { Handlers } from '../../http/operations/handlers.ts';
import type { EggLibrary, Kind } from '../kind.ts';
import { KINDS } from '../kinds.ts';
import { createKindHandlers } from './handlers.ts';
import { createDeletedServerHandlers } from './deleted-servers.ts';
import { createServerHandlers } from './servers.ts';

type AnyKind = (typeof KINDS)[number];
type OperationOf<K extends AnyKind> =
  | `list${K['plural']}`
  | (K extends { readonly isNumbered: true } ? `create${K['title']}` : never)
  | `${'read' | 'save' | 'change' | 'remove'}${K['title']}`;
type ServerOperation =
  | keyof ReturnType<typeof createServerHandlers>
  | keyof ReturnType<typeof createDeletedServerHandlers>;
type KindOperation = OperationOf<AnyKind>;

/** The handlers of the operations of every kind. */
export function createOperatorHandlers(
  library: EggLibrary,
): Pick<Handlers, KindOperation | ServerOperation> {
  const bound = (KINDS as readonly Kind[]).flatMap((kind) => {
    const { list, read, create, save, change, remove } = createKindHandlers(kind, library);
    return Object.entries({
      [`list${kind.plural}`]: list,
      [`read${kind.title}`]: read,
      ...(kind.isNumbered && { [`create${kind.title}`]: create }),
      [`save${kind.title}`]: save,
      [`change${kind.title}`]: change,
      [`remove${kind.title}`]: remove,
    });
  });
  // The rows of these operations are made from the same kinds (contract/operations/declared.ts).
  const handlers = Object.fromEntries(bound) as unknown as Pick<Handlers, KindOperation>;
  return {
    ...handlers,
    ...createServerHandlers(library),
    ...createDeletedServerHandlers(library),
  };
}
