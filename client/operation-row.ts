import { OPERATIONS } from './generated/operations.ts';
import type { OperationId } from './types.ts';

/** Where an operation is. */
export interface OperationRow {
  readonly method: string;
  readonly version: string;
  readonly path: string;
  /** It accepts an Idempotency-Key, so it may be repeated. */
  readonly idempotent: boolean;
}

/** Every operation by its id. */
export const ROWS: ReadonlyMap<OperationId, OperationRow> = new Map(
  Object.entries(OPERATIONS).flatMap(([version, lines]) =>
    lines.split('\n').map((line) => {
      const [id, method = '', path = ''] = line.split(' ');
      const row = {
        method: method.replace('!', ''),
        version,
        path,
        idempotent: method.endsWith('!'),
      };
      return [id as OperationId, row] as const;
    }),
  ),
);
