import { Archive, Download, FolderInput, KeyRound, type LucideIcon, Trash2, X } from 'lucide-react';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { formatBytes } from '../../../format.ts';
import { filesMessages } from '../../../messages/files.ts';
import type { FileAction } from './actions.ts';
import { NOTHING } from './table/selection.ts';
import type { Browser } from './use-browser.ts';
import { useDownloads } from './use-downloads.ts';

const text = filesMessages.selection;

/** How much is chosen, and what can be done with it; how much there is where nothing is chosen. */
export function SelectionBar({ browser }: { readonly browser: Browser }) {
  const { chosen, query } = browser;
  const download = useDownloads(browser.uuid);
  if (chosen.length === 0) {
    const meta = query.data?.pages[0]?.meta;
    const summary = meta === undefined ? '' : text.summary(meta.total, meta.complete);
    return (
      <div className="files-bar dim" role="status">
        {summary}
      </div>
    );
  }
  const bytes = chosen.reduce((sum, { size }) => sum + size, 0);
  const acts: readonly (readonly [FileAction, LucideIcon, () => void])[] = [
    ['download', Download, () => download(chosen, browser.folder)],
    ['move', FolderInput, () => browser.openDialog('move')],
    ['archive', Archive, () => browser.openDialog('archive')],
    ['mode', KeyRound, () => browser.openDialog('mode')],
    ['delete', Trash2, browser.removeChosen],
  ];
  return (
    <div className="files-bar" data-chosen="">
      <RoleIcon label={text.clear} onClick={() => browser.select(NOTHING)}>
        <X size={16} />
      </RoleIcon>
      <span role="status">{text.chosen(chosen.length, bytes > 0 ? formatBytes(bytes) : null)}</span>
      <div className="row-end">
        {acts.map(([action, Icon, run]) => (
          <RoleIcon
            key={action}
            label={text.acts[action as keyof typeof text.acts]}
            refusal={browser.refusal(action)}
            onClick={run}
          >
            <Icon size={17} />
          </RoleIcon>
        ))}
      </div>
    </div>
  );
}
