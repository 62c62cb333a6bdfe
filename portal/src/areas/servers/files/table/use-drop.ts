import { type DragEvent, useState } from 'react';
import { entriesOf, type LocalTree, readEntries } from '../upload/dropped.ts';
import { sayFailure } from '../use-file-changes.ts';
import type { Browser } from '../use-browser.ts';

/** The type of a drag within the page, which tells it from one of files from outside. */
export const DRAGGED = 'application/x-portcullis-files';

interface Uploads {
  readonly refusal: string | null;
  offer(tree: LocalTree, folder: string): void;
}

export interface DropTarget {
  readonly isOver: boolean;
  onDragOver(event: DragEvent): void;
  onDragLeave(event: DragEvent): void;
  onDrop(event: DragEvent): void;
}

/** Folders that take files: those of the page to move, those from outside to upload. */
export function useDrop(browser: Browser, uploads: Uploads) {
  const [over, setOver] = useState<string | null>(null);
  return (folder: string): DropTarget => ({
    isOver: over === folder,
    onDragOver(event) {
      const effect = effectOf(event, folder, { browser, uploads });
      if (effect === null) return;
      event.preventDefault();
      event.stopPropagation();
      event.dataTransfer.dropEffect = effect;
      setOver(folder);
    },
    onDragLeave(event) {
      const to = event.relatedTarget;
      if (!(to instanceof Node) || !event.currentTarget.contains(to)) setOver(null);
    },
    onDrop(event) {
      setOver(null);
      if (isNothing(effectOf(event, folder, { browser, uploads }))) return;
      event.preventDefault();
      event.stopPropagation();
      if (event.dataTransfer.types.includes(DRAGGED)) browser.dropInto(folder);
      else {
        readEntries(entriesOf(event.dataTransfer.items))
          .then((tree) => uploads.offer(tree, folder))
          .catch(sayFailure);
      }
    },
  });
}

function effectOf(
  { dataTransfer: { types } }: DragEvent,
  folder: string,
  { browser, uploads }: { readonly browser: Browser; readonly uploads: Uploads },
): 'move' | 'copy' | 'none' | null {
  // They are in the folder that is shown already.
  if (types.includes(DRAGGED) && folder === browser.folder) return null;
  if (types.includes(DRAGGED)) return browser.refusal('move') === null ? 'move' : 'none';
  if (!types.includes('Files')) return null;
  // A file that no place takes would be opened by the browser, instead of the page.
  return uploads.refusal === null ? 'copy' : 'none';
}

function isNothing(effect: 'move' | 'copy' | 'none' | null): boolean {
  return effect === null || effect === 'none';
}
