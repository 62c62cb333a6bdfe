import type { Tx } from '../../../db/database.ts';
import { type Kind, type KindName, KINDS } from '../../index.ts';
import type { FleetFile } from '../desired.ts';

/**
 * Hands objects that were made by hand to the fleet file, if it names them (`--adopt`): from then on they are changed and
 * removed by it. Nothing else of them changes.
 */
export async function adoptNamed(tx: Tx, file: FleetFile): Promise<void> {
  for (const kind of KINDS as readonly Kind[]) {
    const declared: readonly { readonly object: object }[] = file.objects[kind.name as KindName];
    await kind.adopt?.(
      tx,
      declared.map(({ object }) => kind.key(object)),
    );
  }
}
