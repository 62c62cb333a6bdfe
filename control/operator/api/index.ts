import type { Handlers } from '../../http/operations/handlers.ts';
import type { Kind } from '../kind.ts';
import { KINDS } from '../kinds.ts';
import { createKindHandlers } from './handlers.ts';

type AnyKind = (typeof KINDS)[number];
type OperationOf<K extends AnyKind> =
  | `list${K['plural']}`
  | `${'read' | 'save' | 'change' | 'remove'}${K['title']}`;
type KindOperation = OperationOf<AnyKind>;

/** The handlers of the operations of every kind. */
export function createOperatorHandlers(): Pick<Handlers, KindOperation> {
  const bound = (KINDS as readonly Kind[]).flatMap((kind) => {
    const { list, read, save, change, remove } = createKindHandlers(kind);
    return Object.entries({
      [`list${kind.plural}`]: list,
      [`read${kind.title}`]: read,
      [`save${kind.title}`]: save,
      [`change${kind.title}`]: change,
      [`remove${kind.title}`]: remove,
    });
  });
  // The rows of these operations are made from the same kinds (contract/operations/declared.ts).
  return Object.fromEntries(bound) as unknown as Pick<Handlers, KindOperation>;
}
