import { FolderOpen } from 'lucide-react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { Loading } from '../../../components/Loading.tsx';
import { filesMessages } from '../../../messages/files.ts';
import { BinView } from './views/BinView.tsx';
import { ArchiveDialog } from './dialogs/ArchiveDialog.tsx';
import { ClashDialog } from './dialogs/ClashDialog.tsx';
import { ModeDialog } from './dialogs/ModeDialog.tsx';
import { MoveDialog } from './dialogs/MoveDialog.tsx';
import { NewDialog } from './dialogs/NewDialog.tsx';
import { PullDialog } from './dialogs/PullDialog.tsx';
import { DiskUseView } from './views/DiskUseView.tsx';
import { FileMenu } from './FileMenu.tsx';
import { FileTable } from './table/FileTable.tsx';
import { JobList } from './JobList.tsx';
import { SearchView } from './views/SearchView.tsx';
import { SelectionBar } from './SelectionBar.tsx';
import { Toolbar } from './Toolbar.tsx';
import { UploadList } from './upload/UploadList.tsx';
import { useUploads } from './upload/use-uploads.ts';
import { type Browser, useBrowser } from './use-browser.ts';
import { type DropTarget, useDrop } from './table/use-drop.ts';

const text = filesMessages.browser;

interface Props {
  readonly uuid: string;
  readonly rights: readonly string[];
}

/** A folder and what can be done with what is in it; files from outside can be dropped anywhere on it. */
export function FileBrowser({ uuid, rights }: Props) {
  const browser = useBrowser(uuid, rights);
  const uploads = useUploads(uuid, rights);
  const dropTo = useDrop(browser, uploads);
  const whole = dropTo(browser.folder);
  return (
    <>
      <section
        className="card grid files"
        aria-label={text.title}
        data-over={whole.isOver ? '' : undefined}
        onDragOver={whole.onDragOver}
        onDragLeave={whole.onDragLeave}
        onDrop={whole.onDrop}
      >
        <Toolbar browser={browser} uploads={uploads} dropTo={dropTo} />
        <Shown browser={browser} dropTo={dropTo} />
        {whole.isOver && (
          <div className="files-drop">
            <span>{uploads.refusal ?? text.drop(browser.folder)}</span>
          </div>
        )}
      </section>
      <JobList uuid={uuid} />
      <UploadList uploads={uploads} />
      <FileMenu browser={browser} />
      <Dialogs browser={browser} />
      {uploads.clash !== null && <ClashDialog uploads={uploads} clash={uploads.clash} />}
    </>
  );
}

interface ShownProps {
  readonly browser: Browser;
  dropTo(folder: string): DropTarget;
}

function Shown({ browser, dropTo }: ShownProps) {
  const { query, view } = browser;
  if (view === 'search') return <SearchView browser={browser} />;
  if (view === 'usage') return <DiskUseView browser={browser} />;
  if (view === 'bin') return <BinView browser={browser} />;
  if (query.data === undefined) {
    if (query.error === null) return <Loading />;
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  }
  if (browser.entries.length === 0) return <EmptyState icon={FolderOpen} {...text.empty} />;
  return (
    <>
      <SelectionBar browser={browser} />
      <FileTable browser={browser} dropTo={dropTo} />
    </>
  );
}

function Dialogs({ browser }: { readonly browser: Browser }) {
  const { dialog } = browser;
  const close = (): void => browser.openDialog(null);
  if (dialog === 'file' || dialog === 'folder')
    return <NewDialog browser={browser} kind={dialog} onClose={close} />;
  if (dialog === 'move') return <MoveDialog browser={browser} onClose={close} />;
  if (dialog === 'archive') return <ArchiveDialog browser={browser} onClose={close} />;
  if (dialog === 'mode') return <ModeDialog browser={browser} onClose={close} />;
  if (dialog === 'pull') return <PullDialog browser={browser} onClose={close} />;
  return null;
}
