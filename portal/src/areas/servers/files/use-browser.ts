import { useRef, useState } from 'react';
import { showToast } from '../../../components/forms/toasts.tsx';
import { type Entry, type FileAction, isArchive, refusalOf } from './actions.ts';
import { folderOf, isWithin } from './paths.ts';
import { type Order, useFolder } from './queries.ts';
import { NOTHING, present, type Selection } from './table/selection.ts';
import { type FileChanges, movesTo, useFileChanges } from './use-file-changes.ts';
import { useFilePlace } from './use-file-place.ts';

/** Where a menu opens, in the window. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export type Dialog = 'file' | 'folder' | 'move' | 'archive' | 'mode' | 'pull';
export type View = 'list' | 'search' | 'usage' | 'bin';

/** A folder with what is chosen in it, and the acts on that: what the parts of the browser share. */
export interface Browser {
  readonly uuid: string;
  readonly rights: readonly string[];
  readonly folder: string;
  readonly query: ReturnType<typeof useFolder>;
  readonly entries: readonly Entry[];
  readonly order: Order;
  readonly selection: Selection;
  readonly chosen: readonly Entry[];
  readonly renaming: string | null;
  readonly menu: Point | null;
  readonly dialog: Dialog | null;
  readonly view: View;
  readonly changes: FileChanges;
  setOrder(order: Order): void;
  select(next: Selection): void;
  rename(path: string | null): void;
  openMenu(at: Point | null): void;
  openDialog(dialog: Dialog | null): void;
  show(view: View): void;
  toFolder(path: string, view?: View): void;
  open(entry: Entry): void;
  openFile(path: string, line?: number): void;
  up(): void;
  /** Why an action on these entries, or on what is chosen, is not possible. */
  refusal(action: FileAction, entries?: readonly Entry[]): string | null;
  removeChosen(): void;
  move(paths: readonly string[], folder: string): void;
  /** The paths that are being dragged within the page. */
  readonly dragged: { current: readonly string[] };
  dropInto(folder: string): void;
}

export function useBrowser(uuid: string, rights: readonly string[]): Browser {
  const { place, selected, ...state } = useBrowserState();
  const [{ select, order }, { folder }] = [state, place];
  const changes = useFileChanges(uuid);
  const query = useFolder(uuid, folder, order);
  const entries = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const paths = entries.map(({ path }) => path);
  const selection = present(paths, selected);
  const chosen = entries.filter(({ path }) => selection.chosen.has(path));
  const refusal = (action: FileAction, of: readonly Entry[] = chosen): string | null =>
    refusalOf(action, rights, of);
  const move = (paths: readonly string[], target: string): void => {
    const moves = movesTo(target, paths);
    if (moves.length === 0) return;
    changes.move(moves);
    select(NOTHING);
  };
  return {
    ...state,
    uuid,
    rights,
    folder,
    query,
    entries,
    selection,
    chosen,
    changes,
    refusal,
    move,
    openFile: place.toFile,
    open(entry) {
      if (entry.type === 'folder') state.toFolder(entry.path);
      else if (isArchive(entry)) select(only(entry.path));
      else if (entry.type === 'file') place.toFile(entry.path);
      else showToast({ message: refusal('open', [entry]) });
    },
    up: () => folder !== '' && state.toFolder(folderOf(folder)),
    removeChosen() {
      if (chosen.length === 0 || refusal('delete') !== null) return;
      changes.remove(chosen.map(({ path }) => path));
      // What is restored later is not chosen by that.
      select(NOTHING);
    },
    dropInto(target) {
      const dragged = state.dragged.current.filter((path) => !isWithin(path, target));
      move(dragged, target);
    },
  };
}

/** The states of the browser that depend on no others. */
function useBrowserState() {
  const place = useFilePlace();
  const [order, setOrder] = useState<Order>({ sort: 'name', order: 'ascending' });
  const [selected, select] = useState<Selection>(NOTHING);
  const [renaming, rename] = useState<string | null>(null);
  const [menu, openMenu] = useState<Point | null>(null);
  const [dialog, openDialog] = useState<Dialog | null>(null);
  const [view, show] = useState<View>('list');
  const dragged = useRef<readonly string[]>([]);
  const toFolder = (path: string, next: View = 'list'): void => {
    select(NOTHING);
    rename(null);
    show(next);
    place.toFolder(path);
  };
  const values = { place, order, selected, renaming, menu, dialog, view, dragged };
  const setters = { setOrder, select, rename, openMenu, openDialog, show, toFolder };
  return { ...values, ...setters };
}

function only(path: string): Selection {
  return { chosen: new Set([path]), active: path, anchor: path };
}
