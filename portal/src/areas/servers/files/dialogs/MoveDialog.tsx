import { Button, Modal, Tree, type TreeNodeData, useTree } from '@mantine/core';
import type { KeyClient } from '@portcullis/client/index.ts';
import { Folder, FolderOpen } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import { ProblemNotice } from '../../../../components/forms/ProblemNotice.tsx';
import { RoleButton } from '../../../../components/RoleButton.tsx';
import { filesMessages } from '../../../../messages/files.ts';
import { messages } from '../../../../messages/index.ts';
import { useSession } from '../../../../session/session.ts';
import { isWithin, nameOf } from '../paths.ts';
import type { Browser } from '../use-browser.ts';
import { movesTo } from '../use-file-changes.ts';

const text = filesMessages.move;
/** The value of the folder of the server itself, whose path is empty. */
const ROOT = '/';
const MOST = 1_000;

interface Props {
  readonly browser: Browser;
  onClose(): void;
}

/** Moves what is chosen to a folder of the tree, whose folders are read as they are opened. */
export function MoveDialog({ browser, onClose }: Props) {
  const { client } = useSession();
  const { uuid, chosen } = browser;
  const [paths] = useState(() => chosen.map(({ path }) => path));
  const { data, tree, error } = useFolderTree(client, uuid);
  const selected = tree.selectedState[0] ?? null;
  const target = selected === null ? null : selected === ROOT ? '' : selected;
  return (
    <Modal
      opened
      onClose={onClose}
      title={text.title(paths.length)}
      closeButtonProps={{ 'aria-label': messages.close }}
    >
      <div className="stack">
        <div className="folder-tree">
          <Tree
            data={data}
            tree={tree}
            selectOnClick
            aria-label={text.tree}
            renderNode={({ node, expanded, elementProps }) => (
              <span {...elementProps} className={`${elementProps.className} folder-node`}>
                {expanded ? (
                  <FolderOpen size={16} aria-hidden="true" />
                ) : (
                  <Folder size={16} aria-hidden="true" />
                )}
                {node.label}
              </span>
            )}
          />
        </div>
        <ProblemNotice error={error} />
        <div className="row">
          <span className="dim wrap">{target === null ? text.choose : text.to(target)}</span>
          <div className="row-end">
            <Button variant="default" onClick={onClose}>
              {messages.cancel}
            </Button>
            <RoleButton
              refusal={refusalOf(target, paths)}
              onClick={() => {
                browser.move(paths, target ?? '');
                onClose();
              }}
            >
              {text.submit}
            </RoleButton>
          </div>
        </div>
      </div>
    </Modal>
  );
}

function refusalOf(target: string | null, paths: readonly string[]): string | null {
  if (target === null) return text.choose;
  if (paths.some((path) => isWithin(path, target))) return text.inside;
  return movesTo(target, paths).length === 0 ? text.there : null;
}

function useFolderTree(client: KeyClient, slice: string) {
  const [folders, setFolders] = useState<Folders>(new Map());
  const [error, setError] = useState<Error | null>(null);
  const load = async (value: string): Promise<void> => {
    const path = value === ROOT ? '' : value;
    try {
      const { data } = await client.listFiles({ slice, query: { path, per_page: MOST } });
      const names = data.filter(({ type }) => type === 'folder').map((each) => each.path);
      setFolders((before) => new Map(before).set(value, names));
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
      throw failure;
    }
  };
  const tree = useTree({
    multiple: false,
    initialSelectedState: [],
    initialExpandedState: { [ROOT]: true },
    onLoadChildren: load,
  });
  useEffect(() => {
    void load(ROOT).catch(() => {});
    // Once: the dialog is of one server.
  }, []);
  // The tree begins anew with each other array.
  const data = useMemo(() => [nodeOf(folders, ROOT, filesMessages.crumbs.root)], [folders]);
  return { tree, error, data };
}

type Folders = ReadonlyMap<string, readonly string[]>;

function nodeOf(folders: Folders, value: string, label: string): TreeNodeData {
  const inside = folders.get(value);
  return {
    value,
    label,
    hasChildren: inside === undefined || inside.length > 0,
    ...(inside !== undefined && {
      children: inside.map((path) => nodeOf(folders, path, nameOf(path))),
    }),
  };
}
